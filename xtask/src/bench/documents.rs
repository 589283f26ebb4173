//! Generates an environment as documents of Purlin: one definition, and Deployments with its
//! resources.
//!
//! This module knows only texts. The program that measures graphs in memory includes this file as
//! well.

use std::fmt::Write as _;

use super::shape::Shape;

/// How many resources are in one file. Larger files are not realistic.
const IN_A_FILE: usize = 10_000;

/// The definition of all resources, whose outputs are their inputs.
pub(crate) const DEFINITION: &str = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: node}
spec:
  type: node
  driver: purlin/echo
  inputs:
    values:
      v: ${params.v}
      a: ${params.a}
      b: ${params.b}
  criteria: [{}]
";

/// The placeholder that reads a resource.
pub(crate) fn placeholder(name: &str) -> String {
    format!("${{resources['node.default#shared.{name}'].outputs.v}}")
}

/// The names and values of a resource's params: its own name, and the placeholders that it reads.
pub(crate) fn params(shape: Shape, index: usize, count: usize) -> [(&'static str, String); 3] {
    let reads = shape.reads(index, count);
    let read = |nth: usize| reads.get(nth).map(|read| placeholder(&shape.name(*read, count)));
    let [first, second] = [read(0), read(1)];
    [
        ("v", shape.name(index, count)),
        ("a", first.unwrap_or_else(|| "a".into())),
        ("b", second.unwrap_or_else(|| "b".into())),
    ]
}

/// The Deployments, one text per file.
pub(crate) fn deployments(shape: Shape, count: usize) -> impl Iterator<Item = String> {
    (0..count).step_by(IN_A_FILE).map(move |from| {
        let mut text = String::from(
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: bench\n  env: dev\n  shared:\n",
        );
        for index in from..count.min(from + IN_A_FILE) {
            let [v, a, b] = params(shape, index, count).map(|(_, value)| value);
            let name = &v;
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "    {name}:\n      type: node\n      params: {{v: {v}, a: \"{a}\", b: \"{b}\"}}"
            );
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_environment_has_exactly_its_documents() {
        let texts: Vec<String> = deployments(Shape::Chain, 2).collect();
        assert_eq!(
            texts,
            ["\
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  app: bench
  env: dev
  shared:
    r0:
      type: node
      params: {v: r0, a: \"a\", b: \"b\"}
    r1:
      type: node
      params: {v: r1, a: \"${resources['node.default#shared.r0'].outputs.v}\", b: \"b\"}
"]
        );
    }

    #[test]
    fn large_environments_have_several_files() {
        assert_eq!(deployments(Shape::Independent, 20_001).count(), 3);
    }
}
