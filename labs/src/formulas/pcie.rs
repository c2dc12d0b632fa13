//! What a PCIe link can carry.

/// Bytes per second, one way, of `lanes` lanes of a PCIe generation (1 to 6): transfer rate × encoding ÷ 8 × lanes.
/// Packet headers are not taken off, so copies reach less. `None` for a generation that is not known.
///
/// Source: PCI-SIG, PCI Express Base Specification: 2.5, 5, 8, 16, 32 and 64 GT/s; 8b/10b up to generation 2, 128b/130b
/// from 3 to 5, 236 of 256 bytes of a flit for packets in 6.
pub fn bytes_per_s(generation: u32, lanes: u32) -> Option<f64> {
    let (gigatransfers, encoding) = match generation {
        1 => (2.5, 0.8),
        2 => (5.0, 0.8),
        3 => (8.0, 128.0 / 130.0),
        4 => (16.0, 128.0 / 130.0),
        5 => (32.0, 128.0 / 130.0),
        6 => (64.0, 236.0 / 256.0),
        _ => return None,
    };
    Some(gigatransfers * 1e9 * encoding / 8.0 * f64::from(lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_links() {
        let gb_s = |generation, lanes| bytes_per_s(generation, lanes).map(|b| (b / 1e8).round() / 10.0);
        assert_eq!(gb_s(1, 1), Some(0.3));
        assert_eq!(gb_s(3, 16), Some(15.8));
        assert_eq!(gb_s(4, 16), Some(31.5));
        assert_eq!(gb_s(5, 16), Some(63.0));
        assert_eq!(gb_s(6, 16), Some(118.0));
        assert_eq!(bytes_per_s(0, 16), None);
        assert_eq!(bytes_per_s(7, 16), None);
    }
}
