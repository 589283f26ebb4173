//! Characters that do something to whoever reads a text, and not only stand in it.

/// Whether a character moves a cursor, changes colours, turns the direction of a text round, or is
/// there and cannot be seen. Joiners, which some scripts need, are none.
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}
