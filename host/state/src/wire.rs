//! Encodes numbers and lengths. All input is checked; nothing here can panic or reserve more memory
//! than the available bytes justify.

use purlin_model::{Label, Urn};

use crate::RecordId;

/// Why bytes cannot be decoded, or a value cannot be encoded.
pub(crate) type CodecError = &'static str;

pub(crate) const TOO_LARGE: CodecError = "it contains a number that is too large";
pub(crate) const TOO_LONG: CodecError = "it is longer than it should be";
pub(crate) const NOT_UTF_8: CodecError = "it contains text that is not UTF-8";

/// Appends a number: seven bits per byte, the lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends the length of bytes and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

/// Appends a URN as its difference from `base`, since dependencies usually have similar URNs.
pub(crate) fn put_urn(out: &mut Vec<u8>, base: &str, urn: &Urn) -> Result<(), CodecError> {
    if Urn::parse(urn.as_str()).is_err() {
        return Err(
            "a URN in it does not read back, because the application or environment has `::` in its name",
        );
    }
    let shared = base.bytes().zip(urn.as_str().bytes()).take_while(|(a, b)| a == b).count();
    put_number(out, shared as u64);
    put_bytes(out, urn.as_str().as_bytes().get(shared..).unwrap_or_default());
    Ok(())
}

/// Reads a URN that is stored as its difference from `base`.
pub(crate) fn get_urn(reader: &mut Reader<'_>, base: &str) -> Result<Urn, CodecError> {
    const WRONG: CodecError = "it contains an invalid URN";
    let shared = usize::try_from(reader.number()?).map_err(|_| WRONG)?;
    let rest = reader.bytes()?;
    let mut bytes = base.as_bytes().get(..shared).ok_or(WRONG)?.to_vec();
    bytes.extend_from_slice(rest);
    Urn::parse(std::str::from_utf8(&bytes).map_err(|_| WRONG)?).map_err(|_| WRONG)
}

/// Appends a record id.
pub(crate) fn put_id(out: &mut Vec<u8>, id: &RecordId) -> Result<(), CodecError> {
    put_urn(out, "", &id.urn)?;
    put_number(out, id.superseded.map_or(0, |copy| u64::from(copy) + 1));
    Ok(())
}

/// Reads a record id.
pub(crate) fn get_id(reader: &mut Reader<'_>) -> Result<RecordId, CodecError> {
    let urn = get_urn(reader, "")?;
    let copy = reader.number()?.checked_sub(1).map(u32::try_from).transpose();
    Ok(RecordId { urn, superseded: copy.map_err(|_| TOO_LARGE)? })
}

/// Appends a label and whether it is secret.
pub(crate) fn put_label(out: &mut Vec<u8>, label: &Label) {
    out.push(u8::from(label.is_secret()));
    put_text(out, label.expose());
}

/// Reads a label.
pub(crate) fn get_label(reader: &mut Reader<'_>) -> Result<Label, CodecError> {
    let secret = reader.flag()?;
    Ok(Label::new(reader.text()?, secret))
}

/// Appends an optional value.
pub(crate) fn put_optional<T: ?Sized>(
    out: &mut Vec<u8>,
    value: Option<&T>,
    put: impl FnOnce(&mut Vec<u8>, &T),
) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

/// Reads from the front of a byte slice.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The remaining bytes.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or("it is cut short")?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        self.take(N)?.try_into().map_err(|_| "it is cut short")
    }

    pub(crate) fn byte(&mut self) -> Result<u8, CodecError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, CodecError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            number |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(TOO_LARGE)
    }

    /// A count of items that take at least one byte each.
    pub(crate) fn count(&mut self) -> Result<usize, CodecError> {
        let count = usize::try_from(self.number()?).map_err(|_| "it is cut short")?;
        if count > self.rest.len() { Err("it is cut short") } else { Ok(count) }
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], CodecError> {
        let length = self.count()?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, CodecError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| NOT_UTF_8)
    }

    /// A boolean.
    pub(crate) fn flag(&mut self) -> Result<bool, CodecError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("it has unknown flags"),
        }
    }

    /// An optional value.
    pub(crate) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CodecError>,
    ) -> Result<Option<T>, CodecError> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }
}
