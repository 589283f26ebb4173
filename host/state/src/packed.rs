//! Bytes that are shorter than they were: LZ4, behind the length that they had.

/// Compresses bytes.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    lz4_flex::compress_prepend_size(bytes)
}

/// What was compressed; `None` where it cannot have been that, or is longer than `most` bytes.
pub(crate) fn unpack(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let (length, packed) = packed.split_first_chunk()?;
    // LZ4 makes nothing more than this much shorter, and no more is reserved.
    let length = u32::from_le_bytes(*length) as usize;
    if length > most || length > packed.len().saturating_mul(256) {
        return None;
    }
    lz4_flex::decompress(packed, length).ok()
}
