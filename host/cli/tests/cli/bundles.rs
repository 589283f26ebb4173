//! Tests of bundles through the command line.

mod definitions;
mod deployments;
mod explain;
mod installed;
mod promoted;
mod published;
mod table;

const CATALOG: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mysql, version: 1.2.0}
spec:
  driver: purlin/echo
  inputs:
    values: {host: '${bundle.parameters.name}.db.local', size: '${bundle.parameters.size}'}
    secrets: {password: '${bundle.credentials.root}'}
  parameters: [{name: name, type: string, default: db}, {name: size, type: integer, description: GiB of disk}]
  credentials: [{name: root, description: of the administrator}]
  outputs: [{name: host}, {name: size}, {name: password, sensitive: true}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mysql, version: 2.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: 'two.local'}}
  outputs: [{name: host}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/blog, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs:
    values:
      title: '${bundle.parameters.title}'
      url: 'http://${installation.name}/${bundle.dependencies.db.outputs.host}'
  parameters: [{name: title, type: string}]
  outputs: [{name: url}]
  requires:
    - {name: db, bundle: {reference: acme/mysql, version: 1.x}}
";

fn and<'a>(first: &[&'a str], second: &[&'a str]) -> Vec<&'a str> {
    [first, second].concat()
}
