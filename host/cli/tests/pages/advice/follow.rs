//! Does what a help text says, and nothing else: as a reader who trusts it would, without a look at
//! the message. A form of words that is not known here is a failure of the test, so that advice
//! keeps to few forms.

use std::collections::BTreeMap;

use purlin_graph::nearest;
use regex::Regex;

/// The documents and the arguments of a command.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) files: BTreeMap<String, String>,
    pub(super) arguments: Vec<String>,
}

/// The place of a fault.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) file: String,
    /// From 1.
    pub(super) line: usize,
    /// From 1.
    pub(super) column: usize,
}

/// The words in capitals that stand for something, and something.
const STANDS_FOR: [(&str, &str); 13] = [
    ("ORG/NAME", "purlin/echo"),
    ("REPOSITORY:TAG", "acme/db:v1.0.0"),
    ("TYPE#ID", "dns#shared.site"),
    ("STORE", "vault"),
    ("TYPE", "dns"),
    ("NAME", "web"),
    ("IMAGE", "nginx"),
    ("OUTPUT", "host"),
    ("VALUE", "example.com"),
    ("APP", "shop"),
    ("TEXT", "text"),
    ("ID", "shared.site"),
    ("…", "example.com"),
];

/// Replaces what stands for something.
fn filled(text: &str) -> String {
    STANDS_FOR.iter().fold(text.to_owned(), |text, (word, by)| text.replace(word, by))
}

/// The parts of a text between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(filled).collect()
}

/// A form of advice, and what it asks for.
type Form = (&'static str, fn(&mut Scene, &Spot, &str));

/// The known forms, the first that fits first.
const FORMS: &[Form] = &[
    ("^did you mean `[a-z_]+: ", |scene, spot, help| {
        let correct = quoted(help).swap_remove(0);
        let (name, _) = correct.split_once(':').expect("a field");
        let field = Regex::new(&format!("\\b{name}: [^,}}]*")).expect("a pattern");
        scene.lines(spot, |lines| {
            let mut below = lines[spot.line - 1..].iter_mut();
            let line = below.find(|line| field.is_match(line)).expect("the field");
            *line = field.replace(line, regex::NoExpand(&correct)).into_owned();
        });
    }),
    ("^did you mean `", |scene, spot, help| match &*spot.file {
        "" => scene.replace_similar_argument(&quoted(help)[0]),
        _ => scene.replace_similar(spot, &quoted(help)[0]),
    }),
    ("^write `\\$\\{[^`]*` to read the value(,|$)", |scene, spot, help| {
        let correct = quoted(help).swap_remove(0);
        let inside = regex::escape(&correct[2..correct.len() - 1]);
        let written = Regex::new(&format!(r"\{{+ *{inside} *\}}+")).expect("a pattern");
        scene.lines(spot, |lines| {
            let line = &mut lines[spot.line - 1];
            *line = written.replace(line, regex::NoExpand(&correct)).into_owned();
        });
    }),
    ("`--accept-missing ", |scene, _, help| {
        let option = quoted(help).pop().expect("an option");
        let (option, name) = option.split_once(' ').expect("a name");
        scene.arguments.extend([option.to_owned(), name.trim_matches('\'').to_owned()]);
    }),
    ("^leave out `--", |scene, _, help| {
        let option = quoted(help).swap_remove(0);
        let option = option.split(' ').next().expect("an option");
        let at = scene.arguments.iter().position(|argument| argument == option).expect("an argument");
        scene.arguments.drain(at..at + 2);
    }),
    ("^(set it with|name another one:|name one of them, such as) `--", |scene, _, help| {
        scene.arguments.extend(quoted(help)[0].split(' ').map(str::to_owned));
    }),
    ("^give equal params in both places, or in one of them only$", |scene, spot, _| {
        scene.lines(spot, |lines| {
            let below = |line: &String| line.trim_start().starts_with("params:");
            let at = lines[spot.line - 1..].iter().position(below).expect("its params");
            lines.remove(spot.line - 1 + at);
        });
    }),
    ("^rename the file to `", |scene, spot, help| {
        let text = scene.files.remove(&spot.file).expect("the file");
        scene.files.insert(quoted(help).swap_remove(0), text);
    }),
    ("^quote the key if it is meant as text: ", |scene, spot, help| {
        let at = help.find('"').expect("a quote");
        scene.lines(spot, |lines| lines[spot.line - 1] = lines[spot.line - 1].replace("<<", &help[at..]));
    }),
    ("^write the full name: `--with ", |scene, _, help| {
        let full = quoted(help).swap_remove(0);
        let full = full.split([' ', '=']).nth(1).expect("a name").to_owned();
        let value = scene.arguments.last_mut().expect("an argument");
        *value = format!("{full}={}", value.split_once('=').expect("a value").1);
    }),
    ("^(give|write) a (whole )?number, or `--", |scene, _, _| {
        let value = scene.arguments.last_mut().expect("an argument");
        *value = format!("{}=7", value.split_once('=').expect("a value").0);
    }),
    ("^(write its previous name, or remove|remove|keep only) the alias", |scene, spot, _| {
        scene.replace(spot, |rest| rest.find(']').unwrap_or_default(), "");
    }),
    ("^make one of them more specific, or remove one$", |scene, spot, _| {
        scene.replace_value(spot, "{app_id: shop}");
    }),
    ("^remove one of these references", |scene, spot, _| scene.replace_placeholder(spot, "text")),
    ("^remove one of these requirements", |scene, spot, _| scene.remove_entry(spot, "requires")),
    ("^name what to read, or write `", |scene, spot, help| {
        scene.replace_placeholder(spot, quoted(help).last().expect("a text"));
    }),
    ("^read `params`, or give a default as in `", |scene, spot, help| {
        scene.replace_placeholder(spot, quoted(help).last().expect("a placeholder"));
    }),
    ("^write the key out", |scene, spot, _| scene.replace_word(spot, "key")),
    ("^remove the `---` or `...`", |scene, spot, _| {
        scene.lines(spot, |lines| {
            let at = lines[..spot.line].iter().rposition(|line| line == "---").expect("a separator");
            lines.remove(at);
        });
    }),
    ("^give the definition `[^`]*` a `", |scene, _, help| {
        let parts = quoted(help);
        let id = format!("id: {}}}", parts[0]);
        let text = scene.files.values_mut().find(|text| text.contains(&id)).expect("the definition");
        *text = text.replace("driver:", &format!("{}: account, driver:", parts[1]));
    }),
    ("^give one of them another type: a ResourceType with `", |scene, _, help| {
        let text = format!(
            "apiVersion: purlin.dev/v1\nkind: ResourceType\nmetadata: {{name: added}}\nspec: {{type: other/network, {}}}\n",
            help.split('`').nth(1).expect("a field"),
        );
        scene.files.insert("added.yaml".to_owned(), text);
    }),
    ("^write `\\{[a-z]", |scene, spot, help| {
        let entry = format!("{}: {}", scene.word(spot), quoted(help).last().expect("a map"));
        let length = |rest: &str| rest.find('{').map_or(0, |at| at + value(&rest[at..]));
        scene.replace(spot, length, &entry);
    }),
    ("^(write|rename it to) .*such as `[^`]*`$", |scene, spot, help| {
        scene.replace_word(spot, quoted(help).last().expect("a name"));
    }),
    ("^a (name|class|type) .*such as `[^`]*`$", |scene, spot, help| {
        scene.replace_word(spot, quoted(help).last().expect("a name"));
    }),
    ("^classes have lower case: write `", |scene, spot, help| scene.replace_word(spot, &quoted(help)[0])),
    ("^here the field is called `", |scene, spot, help| scene.replace_word(spot, &quoted(help)[0])),
    ("^(write|quote it: |it is) ?[\"']", |scene, spot, help| {
        let at = help.find(['"', '\'']).expect("a quote");
        scene.replace_value(spot, &help[at..]);
    }),
    ("^quote it if it is meant as text: ", |scene, spot, help| {
        let at = help.find('"').expect("a quote");
        scene.replace_value(spot, &help[at..]);
    }),
    ("^write the value without a tag$", |scene, spot, _| {
        let tag = Regex::new("!+[A-Za-z]+ ").expect("a pattern");
        scene.lines(spot, |lines| lines[spot.line - 1] = tag.replace(&lines[spot.line - 1], "").into_owned());
    }),
    ("^write `\\['", |scene, spot, help| {
        let brackets = Regex::new(r"\[[^\]]*\]").expect("a pattern");
        let by = quoted(help).remove(0);
        scene.lines(spot, |lines| {
            lines[spot.line - 1] = brackets.replace(&lines[spot.line - 1], by.as_str()).into_owned();
        });
    }),
    ("^write one criterion for each: ", |scene, spot, help| {
        scene.replace_around(spot, ('{', '}'), &quoted(help).join(", "));
    }),
    ("add (it to purlin.yaml|a definition) .*", |scene, spot, help| {
        if help.starts_with("write `") {
            scene.replace_descriptor(spot, &quoted(help)[0]);
        }
        let parts = quoted(help.split("add a definition").nth(1).expect("a definition"));
        let text = format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: added}}\nspec:\n  type: {}\n  \
             driver: purlin/echo\n  inputs: {{values: {{host: h}}}}\n  {}\n",
            parts[0], parts[1]
        );
        scene.files.insert("added.yaml".to_owned(), text);
    }),
    ("^add the criterion `", |scene, _, help| {
        let parts = quoted(help);
        let id = format!("id: {}", parts[1]);
        let text = scene.files.values_mut().find(|text| text.contains(&id)).expect("the definition");
        *text = text.replace("criteria: [", &format!("criteria: [{}, ", parts[0])).replace(", ]", "]");
    }),
    ("^add `(--[a-z-]+)", |scene, _, help| {
        scene.arguments.extend(quoted(help)[0].split(' ').map(str::to_owned));
    }),
    ("^`(--[a-z-]+)", |scene, _, help| {
        scene.arguments.extend(quoted(help)[0].split(' ').map(str::to_owned));
    }),
    ("^add `criteria: .*` to `", |scene, _, help| {
        let parts = quoted(help);
        let id = format!("id: {}", parts[1]);
        let text = scene.files.values_mut().find(|text| text.contains(&id)).expect("the definition");
        *text = text.replace("criteria: []", &parts[0]);
    }),
    ("^add `(apiVersion|kind): ", |scene, spot, help| {
        for entry in quoted(help).iter().rev() {
            scene.add_entry(spot, entry);
        }
    }),
    ("or add `--set ", |scene, _, help| {
        let last = quoted(help).pop().expect("an option");
        scene.arguments.extend(last.split(' ').map(str::to_owned));
    }),
    ("^(declare it: |add )`[a-zA-Z_]+: ", |scene, spot, help| scene.add_entry(spot, &quoted(help)[0])),
    ("^leave `[^`]+` out: ", |scene, spot, help| scene.remove_entry(spot, &quoted(help)[0])),
    ("^indent it below `", |scene, spot, help| scene.indent_below(spot, &quoted(help)[0])),
    ("^indent it by ([0-9]+) space", |scene, spot, help| {
        let count = Regex::new("[0-9]+").expect("a pattern").find(help).expect("a number");
        scene.indent_to(spot, count.as_str().parse().expect("a number"));
    }),
    ("^(write|leave).*`\\$", |scene, spot, help| {
        scene.replace_placeholder(spot, quoted(help).last().expect("a placeholder"));
    }),
    ("^a hop is", |scene, spot, help| {
        scene.replace_descriptor(spot, quoted(help).last().expect("a selector"));
    }),
    ("^write `[a-zA-Z_]+: .*` and `", |scene, spot, help| {
        scene.replace_entry(spot, &quoted(help).join(", "))
    }),
    ("^write( it as| a list:)? ?`[a-zA-Z_]+:", |scene, spot, help| {
        scene.replace_entry(spot, &quoted(help)[0])
    }),
    ("^use spaces$", |scene, spot, _| {
        let text = scene.text(spot);
        *text = text.replace('\t', "  ");
    }),
    ("^insert a line `---` before line ", |scene, spot, help| {
        let number: usize = help.rsplit(' ').next().and_then(|word| word.parse().ok()).expect("a number");
        scene.lines(spot, |lines| lines.insert(number - 1, "---".to_owned()));
    }),
    ("^close it with ", |scene, spot, help| {
        let mut rest = help.chars().skip("close it with ".len());
        let quote = rest.find(|c| *c != '`').expect("what closes it");
        scene.lines(spot, |lines| lines[spot.line - 1].push(quote));
    }),
    ("^(rename one of them|give one of them another |give each a different )", |scene, spot, _| {
        let word = scene.word(spot);
        scene.replace_word(spot, &format!("{word}2"));
    }),
    ("^(keep one of them|remove )", |scene, spot, _| {
        let word = scene.word(spot);
        scene.remove_entry(spot, &word);
    }),
    ("^write `", |scene, spot, help| scene.replace_word(spot, &quoted(help)[0])),
];

impl Scene {
    /// Does what the help of a fault says.
    pub(super) fn follow(&mut self, spot: &Spot, help: &str) {
        let found = FORMS.iter().find(|(form, _)| Regex::new(form).expect("a pattern").is_match(help));
        let (_, apply) = found.unwrap_or_else(|| panic!("no known form of advice: {help}"));
        // What follows is for those whom the first part does not suit.
        let first = help.split("? Otherwise").next().unwrap_or(help);
        apply(self, spot, first);
    }

    fn text(&mut self, spot: &Spot) -> &mut String {
        self.files.get_mut(&spot.file).unwrap_or_else(|| panic!("no file {}", spot.file))
    }

    fn lines(&mut self, spot: &Spot, change: impl FnOnce(&mut Vec<String>)) {
        let text = self.text(spot);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        *text = lines.join("\n") + "\n";
    }

    /// Replaces the part of a line that begins at a place, as long as `length` says.
    fn replace(&mut self, spot: &Spot, length: impl FnOnce(&str) -> usize, by: &str) {
        self.lines(spot, |lines| {
            let line = &mut lines[spot.line - 1];
            let from = line.char_indices().nth(spot.column - 1).map_or(line.len(), |(at, _)| at);
            let to = from + length(&line[from..]);
            line.replace_range(from..to, by);
        });
    }

    /// The word at a place.
    fn word(&mut self, spot: &Spot) -> String {
        let line = self.text(spot).lines().nth(spot.line - 1).unwrap_or_default().to_owned();
        let rest: String = line.chars().skip(spot.column - 1).collect();
        rest[..word(&rest)].trim_matches(['"', '\'']).to_owned()
    }

    /// Replaces the word at a place by a similar one, or the first similar one below: a resource's
    /// place is that of its name.
    fn replace_similar(&mut self, spot: &Spot, by: &str) {
        let own = self.word(spot);
        let line = self.text(spot).lines().nth(spot.line - 1).unwrap_or_default().to_owned();
        if line.contains("${") || nearest(by, [own.as_str()]).is_some() {
            return self.replace_word(spot, by);
        }
        // A key has the type in it, and a reference of a bundle may have a tag.
        let by = by.split('#').next().unwrap_or(by);
        let similar = |line: &str| {
            line.split([' ', '{', '}', ',', ':', '\''])
                .find(|word| nearest(by, [*word]).is_some())
                .map(str::to_owned)
        };
        let below = |line: &&str| similar(line).is_some();
        if !self.text(spot).lines().skip(spot.line - 1).any(|line| below(&line)) {
            return self.replace_word(spot, by);
        }
        self.lines(spot, |lines| {
            let mut below = lines[spot.line - 1..].iter_mut();
            let line = below.find(|line| similar(line).is_some()).expect("a line");
            *line = line.replace(&similar(line).expect("a word"), by);
        });
    }

    /// Replaces the name in an argument that a name is similar to.
    fn replace_similar_argument(&mut self, by: &str) {
        let similar = self.arguments.iter_mut().find_map(|argument| {
            let (name, value) = argument.split_once('=')?;
            let value = value.to_owned();
            nearest(by, [name]).is_some().then_some((argument, value))
        });
        let (argument, value) = similar.expect("an argument that is like it");
        *argument = format!("{by}={value}");
    }

    fn replace_word(&mut self, spot: &Spot, by: &str) {
        // In a placeholder, the place may be that of the placeholder.
        let rest: String = self
            .text(spot)
            .lines()
            .nth(spot.line - 1)
            .unwrap_or_default()
            .chars()
            .skip(spot.column - 1)
            .collect();
        if rest.starts_with("${") {
            return self.replace_in_placeholder(spot, by);
        }
        let before: String = self
            .text(spot)
            .lines()
            .nth(spot.line - 1)
            .unwrap_or_default()
            .chars()
            .take(spot.column - 1)
            .collect();
        let is_inside = before.rfind("${").is_some_and(|open| !before[open..].contains('}'));
        let segment = |rest: &str| rest[..word(rest)].find('.').unwrap_or(word(rest));
        self.replace(
            spot,
            |rest| if is_inside && !by.contains('.') { segment(rest) } else { word(rest) },
            by,
        );
    }

    /// Replaces the segment of a placeholder that is most like a name.
    fn replace_in_placeholder(&mut self, spot: &Spot, by: &str) {
        if by.contains('#') {
            return self.replace_descriptor(spot, by);
        }
        let mut change = |text: &str| {
            let words = Regex::new("[A-Za-z0-9_-]+").expect("a pattern");
            let near = nearest(by, words.find_iter(text).map(|word| word.as_str()));
            let near = near.expect("a word that is like it").to_owned();
            let change = |found: &regex::Captures<'_>| match &found[0] {
                word if word == near => by.to_owned(),
                word => word.to_owned(),
            };
            words.replace_all(text, change).into_owned()
        };
        self.change_placeholder(spot, &mut change);
    }

    /// Replaces the descriptor of a placeholder.
    fn replace_descriptor(&mut self, spot: &Spot, by: &str) {
        // The hops of a selector stay, unless it is a selector that takes its place.
        let descriptor =
            Regex::new(r"resources(?:\['[^'<>]*([<>][^']*)?'\]|\.[A-Za-z0-9_/-]+)").expect("a pattern");
        self.change_placeholder(spot, &mut |text| {
            let found = descriptor.captures(text).expect("a descriptor");
            let hops = found.get(1).filter(|_| !by.contains(['<', '>'])).map_or("", |hops| hops.as_str());
            text.replace(&found[0], &format!("resources['{by}{hops}']"))
        });
    }

    fn replace_placeholder(&mut self, spot: &Spot, by: &str) {
        self.change_placeholder(spot, &mut |_| by.to_owned());
    }

    /// Changes the placeholder in the line of a place.
    fn change_placeholder(&mut self, spot: &Spot, change: &mut dyn FnMut(&str) -> String) {
        let placeholder = Regex::new(r"\$\{[^}]*\}").expect("a pattern");
        self.lines(spot, |lines| {
            let line = &mut lines[spot.line - 1];
            *line = placeholder.replace(line, |found: &regex::Captures<'_>| change(&found[0])).into_owned();
        });
    }

    /// Replaces a value: to the end of its line, or of its item in brackets.
    fn replace_value(&mut self, spot: &Spot, by: &str) {
        self.replace(spot, value, by);
    }

    /// Replaces the entry that a place is in.
    fn replace_entry(&mut self, spot: &Spot, by: &str) {
        let line = self.text(spot).lines().nth(spot.line - 1).unwrap_or_default().to_owned();
        let before: String = line.chars().take(spot.column - 1).collect();
        let start = before.rfind(['{', ',']).map_or_else(
            || before.len() - before.trim_start_matches([' ', '-']).len(),
            |at| at + 1 + before[at + 1..].len() - before[at + 1..].trim_start().len(),
        );
        let spot = Spot { column: line[..start].chars().count() + 1, ..spot.clone() };
        if line[..start].contains('{') {
            return self.replace(&spot, value, by);
        }
        let indent = format!("\n{}", " ".repeat(start));
        self.replace(&spot, str::len, &entries(by).join(&indent));
    }

    /// Replaces everything from the bracket before a place to the one that closes it.
    fn replace_around(&mut self, spot: &Spot, (open, close): (char, char), by: &str) {
        let line = self.text(spot).lines().nth(spot.line - 1).unwrap_or_default().to_owned();
        let start = line[..spot.column].rfind(open).expect("an opening bracket");
        let spot = Spot { column: start + 1, ..spot.clone() };
        self.replace(&spot, |rest| rest.find(close).map_or(rest.len(), |at| at + 1), by);
    }

    /// Adds an entry beside the one that a place is in.
    fn add_entry(&mut self, spot: &Spot, entry: &str) {
        self.lines(spot, |lines| {
            let line = &mut lines[spot.line - 1];
            let indent = line.len() - line.trim_start_matches([' ', '-']).len();
            // A whole section belongs at the top.
            let is_section =
                ["resources", "modules", "apiVersion", "kind"].iter().any(|name| entry.starts_with(name));
            let at = line.char_indices().nth(spot.column - 1).map_or(0, |(at, _)| at);
            if line[..at].contains('{') && !is_section {
                let from = if line[at..].starts_with('{') { at + 1 } else { at };
                let comma = if line[from..].starts_with('}') { "" } else { ", " };
                line.insert_str(from, &format!("{entry}{comma}"));
            } else if line[at..].starts_with('{') {
                line.insert_str(at + 1, &format!("{entry}, "));
            } else if is_section {
                lines.insert(0, entry.to_owned());
            } else {
                lines.insert(spot.line - 1, format!("{}{entry}", " ".repeat(indent)));
            }
        });
    }

    /// Removes the entry with this name from the line of a place.
    fn remove_entry(&mut self, spot: &Spot, name: &str) {
        let entry = Regex::new(&format!(r"\b{}: *", regex::escape(name))).expect("a pattern");
        self.lines(spot, |lines| {
            let line = lines[spot.line - 1].clone();
            if line.contains('{') && !line.trim_start().starts_with(&format!("{name}:")) {
                // Without such an entry, it is an item of a list.
                let (from, value_from) = match entry.find(&line) {
                    Some(found) => (found.start(), found.end()),
                    None => line[..spot.column].rfind('{').map(|at| (at, at)).expect("an item"),
                };
                let to = value_from + value(&line[value_from..]);
                let rest = line[to..].strip_prefix(", ").unwrap_or(&line[to..]);
                let changed = format!("{}{rest}", &line[..from]);
                lines[spot.line - 1] = changed.replace(", }", "}").replace(", ]", "]");
                return;
            }
            let indent = line.len() - line.trim_start().len();
            let deeper = |line: &String| line.len() - line.trim_start().len() > indent;
            let below = lines[spot.line..].iter().take_while(|line| deeper(line)).count();
            match line.trim_start().strip_prefix("- ") {
                Some(_) => lines[spot.line - 1] = format!("{}- {{}}", " ".repeat(indent)),
                None => drop(lines.drain(spot.line - 1..spot.line + below)),
            }
        });
    }

    fn indent_below(&mut self, spot: &Spot, name: &str) {
        let above = format!("{name}:");
        self.lines(spot, |lines| {
            let parent = lines[..spot.line].iter().rfind(|line| line.trim_start().starts_with(&above));
            let parent = parent.expect("the entry above");
            let wanted = parent.len() - parent.trim_start().len() + 2;
            shift(lines, spot.line - 1, wanted);
        });
    }

    fn indent_to(&mut self, spot: &Spot, wanted: usize) {
        self.lines(spot, |lines| shift(lines, spot.line - 1, wanted));
    }
}

/// Indents a line, and everything below it by as much.
fn shift(lines: &mut [String], first: usize, wanted: usize) {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(&lines[first]);
    let below = lines[first + 1..].iter().take_while(|line| indent(line) > own).count();
    for line in &mut lines[first..=first + below] {
        let new = indent(line) + wanted - own.min(indent(line) + wanted);
        *line = format!("{}{}", " ".repeat(new), line.trim_start());
    }
}

/// The entries of a text, which are separated by `, ` outside of brackets.
fn entries(text: &str) -> Vec<String> {
    let mut depth = 0_i32;
    let mut all = vec![String::new()];
    for c in text.chars() {
        depth += i32::from(matches!(c, '{' | '[')) - i32::from(matches!(c, '}' | ']'));
        match c {
            ',' if depth == 0 => all.push(String::new()),
            c => all.last_mut().expect("one").push(c),
        }
    }
    all.iter().map(|entry| entry.trim().to_owned()).collect()
}

/// The length of the word at the beginning of a text.
fn word(rest: &str) -> usize {
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return rest[1..].find(quote).map_or(rest.len(), |at| at + 2);
    }
    rest.find(|c: char| !(c.is_alphanumeric() || "_-./@#*^".contains(c))).unwrap_or(rest.len())
}

/// The length of the value at the beginning of a text.
fn value(rest: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in rest.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' | ',' if depth == 0 => return at,
            '}' | ']' => depth -= 1,
            _ => {}
        }
    }
    rest.len()
}
