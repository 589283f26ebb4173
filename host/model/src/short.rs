//! Short texts that documents repeat: names of types and classes, segments of paths.

use std::cell::RefCell;
use std::sync::Arc;

/// The maximum number of cached texts.
const KNOWN: usize = 256;

/// The longest cached text, in bytes.
const LONGEST: usize = 32;

/// A text that will probably be needed again: if the thread used the same text recently, it returns
/// that one. A hundred thousand placeholders name the same few types and outputs.
pub fn short_text(text: &str) -> Arc<str> {
    thread_local! {
        static TEXTS: RefCell<Box<[Option<Arc<str>>]>> = RefCell::new(vec![None; KNOWN].into());
    }
    if text.len() > LONGEST {
        return text.into();
    }
    // FNV-1a, which is fast for short texts.
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    TEXTS.with(|texts| {
        let mut texts = texts.borrow_mut();
        let Some(place) = texts.get_mut(hash as usize % KNOWN) else { return text.into() };
        match place {
            Some(known) if **known == *text => Arc::clone(known),
            _ => Arc::clone(place.insert(text.into())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_held_once() {
        let (one, other) = (short_text("outputs"), short_text("outputs"));
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(&*short_text("params"), "params");
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(*short_text(&long), *long);
        // Others may have taken its place.
        for number in 0..10 * KNOWN {
            assert_eq!(*short_text(&number.to_string()), *number.to_string());
        }
    }
}
