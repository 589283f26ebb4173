//! YAML 1.2 to JSON, to read rendered text.

use serde_json::Value as Json;

use crate::TemplateFault;

/// The maximum number of characters shown of a line.
const SHOWN: usize = 80;

/// The single document of a text; an empty one is `null`.
///
/// # Errors
/// The line and the fault.
pub fn parse(text: &str) -> Result<Json, TemplateFault> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(0, |location| usize::try_from(location.line()).unwrap_or(0));
        // Something that is not closed is noticed behind the end.
        let before = text.lines().take(line).enumerate().filter(|(_, line)| !line.trim().is_empty());
        let line = before.map(|(index, _)| index + 1).last().unwrap_or(line);
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let message = message.lines().next().unwrap_or_default();
        // The rendered line shows the fault better than the parser's message.
        let rendered = line.checked_sub(1).and_then(|index| text.lines().nth(index)).map(str::trim);
        let rendered = match rendered.filter(|rendered| !rendered.is_empty()) {
            Some(rendered) => format!(" `{}`", rendered.chars().take(SHOWN).collect::<String>()),
            None => String::new(),
        };
        // The most common error by far, in words that say what to look for.
        let message = match message.starts_with("mapping values are not allowed") {
            true => "`: ` in a text without quotes",
            false => message,
        };
        let message = format!(
            "it renders{rendered}, which is not valid YAML ({message}); put quotes around the value, or write it \
             with `quote`, such as `{{{{ .x | quote }}}}`"
        );
        TemplateFault { line, message }
    })
}
