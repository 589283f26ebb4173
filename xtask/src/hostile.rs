//! Assembles the components of tests/hostile/wat: handwritten core modules, for attacks that Rust
//! cannot express.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, embed_component_metadata};

use crate::step::root;

/// Assembles each of them in a folder next to the drivers. They have the world of `template`, which
/// is the component of tests/hostile, without its preview.
pub(crate) fn assemble(template: &Path, folder: &Path) -> anyhow::Result<usize> {
    let bytes = fs::read(template).with_context(|| format!("cannot read {}", template.display()))?;
    let DecodedWasm::Component(mut resolve, world) = wit_component::decode(&bytes)? else {
        bail!("{} is not a component", template.display());
    };
    let wasi = resolve.packages.iter().find(|(_, package)| package.name.namespace == "wasi");
    let version = wasi.and_then(|(_, package)| package.name.version.clone());
    let version = version.context("the template imports nothing of WASI")?;
    let mut own = resolve.worlds.get(world).cloned().context("the template has no world")?;
    own.exports.retain(|key, _| resolve.name_world_key(key).starts_with("purlin:driver/"));
    resolve.worlds.get_mut(world).context("the template has no world")?.exports = own.exports;
    let from = root().join("tests/hostile/wat");
    let common = texts(&from.join("common"))?;
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let attacks = texts(&from)?;
    for (name, attack) in &attacks {
        let assembled = || {
            if attack.lines().any(|line| line.starts_with("(component")) {
                return anyhow::Ok(wat::parse_str(attack)?);
            }
            let of_wasi = |line: &str| match line.contains("\"wasi:") {
                true => line.replace("@0.2.0\"", &format!("@{version}\"")),
                false => line.to_owned(),
            };
            let attack = attack.lines().map(of_wasi).collect::<Vec<_>>().join("\n");
            // The imports come first, then `common`, so that all code uses its memory.
            let (imports, rest): (Vec<&str>, Vec<&str>) =
                attack.lines().partition(|line| line.starts_with("(import"));
            let parts = [imports.join("\n"), missing(&attack, &common), rest.join("\n")];
            let mut module = wat::parse_str(format!("(module\n{}\n)", parts.join("\n")))?;
            embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
            ComponentEncoder::default().module(&module)?.encode()
        };
        let component = assembled().with_context(|| format!("cannot make a component of {name}.wat"))?;
        fs::write(folder.join(name).with_extension("wasm"), component)?;
    }
    Ok(attacks.len())
}

/// The parts of `common` that an attack does not define itself.
fn missing(attack: &str, common: &[(String, String)]) -> String {
    let defines = |name: &str| {
        let mut words = attack.split(|c: char| c.is_whitespace() || c == '(' || c == ')').peekable();
        std::iter::from_fn(move || Some((words.next()?, words.peek().copied().unwrap_or_default())))
            .any(|(form, id)| matches!(form, "func" | "memory") && id.strip_prefix('$') == Some(name))
    };
    common.iter().filter(|(name, _)| !defines(name)).map(|(_, text)| text.as_str()).collect()
}

fn texts(folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "wat") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path)?));
        }
    }
    found.sort();
    Ok(found)
}
