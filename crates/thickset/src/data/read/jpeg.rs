//! How often a JPEG image goes over its pixels.

/// Markers: a byte of ones, then their kind.
const MARKER: u8 = 0xff;
const START: u8 = 0xd8;
const SCAN: u8 = 0xda;

/// The number of scans of a JPEG file; 0 for any other.
///
/// Data of a scan has a zero after each byte of ones, so a marker cannot stand in it; the other parts say how long they are.
pub(super) fn scans(bytes: &[u8]) -> usize {
    if !bytes.starts_with(&[MARKER, START]) {
        return 0;
    }
    let mut at = 2;
    let mut scans = 0;
    while let Some(step) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|&byte| byte == MARKER))
    {
        at += step + 1;
        match bytes.get(at).copied() {
            None => break,
            // Filling, data, and markers without a length: those that restart, begin and end.
            Some(0x00 | 0x01 | MARKER | 0xd0..=0xd9) => {}
            Some(kind) => {
                scans += usize::from(kind == SCAN);
                let length = bytes.get(at + 1..at + 3);
                at += 1 + length.map_or(0, |two| usize::from(two[0]) << 8 | usize::from(two[1]));
            }
        }
    }
    scans
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scans_are_counted_and_their_data_and_other_parts_are_not() {
        let scan = [MARKER, SCAN, 0, 4, 1, 2, 0xff, 0x00, 0xda, 0xff, 0xd3, 7];
        let other = [MARKER, 0xe0, 0, 6, MARKER, SCAN, 0, 2];
        let file = [&[MARKER, START][..], &other, &scan, &scan, &[MARKER, 0xd9]].concat();
        assert_eq!(scans(&file), 2);
        assert_eq!(scans(&file[1..]), 0);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_count_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = scans(&[&[MARKER, START], &bytes[..]].concat());
        }
    }
}
