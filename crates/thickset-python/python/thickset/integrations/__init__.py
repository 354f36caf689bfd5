"""Where people already are. Each module needs the library it is named after, and nothing else imports it."""
