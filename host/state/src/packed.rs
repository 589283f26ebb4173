//! Compressed bytes: the original length, followed by LZ4.

/// Compresses bytes.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    lz4_flex::compress_prepend_size(bytes)
}

/// Decompresses bytes; `None` if they are invalid, or the result would be longer than `most` bytes.
pub(crate) fn unpack(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let (length, packed) = packed.split_first_chunk()?;
    // LZ4 compresses by less than this factor, so no more memory is reserved.
    let length = u32::from_le_bytes(*length) as usize;
    if length > most || length > packed.len().saturating_mul(256) {
        return None;
    }
    lz4_flex::decompress(packed, length).ok()
}
