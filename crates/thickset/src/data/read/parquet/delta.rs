//! Parquet's whole numbers as differences (`DELTA_BINARY_PACKED`), walked to see how many there are and where they end.

/// The number of values of a stream, and the place where it ends; `None` if it ends early or breaks the format's rules.
pub(super) fn walk(data: &[u8]) -> Option<(u64, usize)> {
    let mut at = 0;
    let block = varint(data, &mut at)?;
    let parts = varint(data, &mut at)?;
    let values = varint(data, &mut at)?;
    varint(data, &mut at)?;
    if parts == 0 || !block.is_multiple_of(128) || !block.is_multiple_of(parts) || block == 0 {
        return None;
    }
    let per_part = block / parts;
    // The first value stands in the header.
    let mut left = values.saturating_sub(1);
    while left > 0 {
        varint(data, &mut at)?;
        let widths_end = at.checked_add(usize::try_from(parts).ok()?)?;
        let widths = data.get(at..widths_end)?;
        at = widths_end;
        for &width in widths {
            if left == 0 {
                break;
            }
            let bits = u64::from(width).checked_mul(per_part)?;
            at = at.checked_add(usize::try_from(bits / 8).ok()?)?;
            left = left.saturating_sub(per_part);
        }
    }
    Some((values, at))
}

/// A number of seven bits a byte, the lowest first.
fn varint(data: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for place in 0..10 {
        let byte = *data.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stream_of_three_values_ends_where_it_ends() {
        // Blocks of 128 in four parts; three values; the first is 5. One block: least difference 1, widths 1, 0, 0, 0; the first
        // part of 32 differences takes four bytes.
        let stream = [
            0x80, 0x01, 0x04, 0x03, 0x0a, 0x02, 1, 0, 0, 0, 0, 0, 0, 0, 0xff,
        ];
        assert_eq!(walk(&stream), Some((3, 14)));
        assert_eq!(walk(&stream[..9]), None);
        assert_eq!(walk(&[0x80, 0x01, 0x04, 0x00, 0x00]), Some((0, 5)));
        assert_eq!(walk(&[0x80, 0x01, 0x00, 0x03, 0x0a]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_walk_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = walk(&bytes);
        }
    }
}
