//! Turns the JSON of an audit into one self-contained HTML file.
