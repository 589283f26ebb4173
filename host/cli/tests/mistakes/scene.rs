//! A folder with a document of every kind, deployed once, and copies of it to edit.

use std::sync::OnceLock;

use purlin_systems::Project;

/// All files of the scene. No name in it is part of another, so that tests can search texts for
/// names.
pub(crate) const FILES: [(&str, &str); 9] = [
    (
        "purlin.yaml",
        "\
apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults:
    org: acme
    app: shop
    env: prod
    env_type: production
  parallelism: 4
",
    ),
    (
        "platform/names.yaml",
        "\
apiVersion: purlin.dev/v1
kind: Definition
metadata:
  id: names
spec:
  type: dns
  driver: purlin/echo
  inputs:
    values:
      host: ${context.res.guresid}.example.test
  provision:
    policy#shared.guard:
      is_dependent: true
      params:
        level: strict
  criteria:
    - env_type: production
---
apiVersion: purlin.dev/v1
kind: Definition
metadata:
  id: names-elsewhere
spec:
  type: dns
  driver: purlin/echo
  inputs:
    values:
      host: elsewhere.test
  criteria:
    - {}
",
    ),
    (
        "platform/stores.yaml",
        "\
apiVersion: purlin.dev/v1
kind: Definition
metadata:
  id: databases
spec:
  type: postgres
  driver: purlin/echo
  inputs:
    values:
      host: db.internal
      size: ${params.gigabytes}
  criteria:
    - app_id: shop
---
apiVersion: purlin.dev/v1
kind: Definition
metadata:
  id: buckets
spec:
  type: s3
  driver: purlin/echo
  inputs:
    values:
      bucket: ${context.res.guresid}
  criteria:
    - {}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata:
  id: policies
spec:
  type: policy
  driver: purlin/echo
  inputs:
    values:
      level: ${params.level}
  criteria:
    - {}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata:
  id: namespaces
spec:
  type: k8s-namespace
  driver: purlin/echo
  inputs:
    values:
      namespace: shop-prod
  criteria:
    - {}
",
    ),
    (
        "platform/caches.yaml",
        "\
apiVersion: entity.humanitec.io/v1b1
kind: Definition
metadata:
  id: caches
entity:
  name: caches
  type: redis
  driver_type: humanitec/echo
  driver_inputs:
    values:
      host: cache.internal
      namespace: ${resources['k8s-namespace.default#k8s-namespace'].outputs.namespace}
  criteria:
    - env_type: production
",
    ),
    (
        "platform/types.yaml",
        "\
apiVersion: purlin.dev/v1
kind: ResourceType
metadata:
  name: postgres
spec:
  type: postgres
  params:
    type: object
    properties:
      gigabytes:
        type: integer
        maximum: 100
    additionalProperties: false
  outputs:
    type: object
    properties:
      host:
        type: string
      size:
        type: integer
    additionalProperties: false
",
    ),
    (
        "apps/web.yaml",
        "\
apiVersion: score.dev/v1b1
metadata:
  name: frontend
containers:
  main:
    image: ghcr.io/example/frontend:1.0.0
    variables:
      HOST: ${resources.site.host}
      DATABASE: ${resources.orders.host}
resources:
  site:
    type: dns
  orders:
    type: postgres
    params:
      gigabytes: 10
",
    ),
    (
        "apps/worker.json",
        "\
{
  \"apiVersion\": \"score.dev/v1b1\",
  \"metadata\": {\"name\": \"backend\"},
  \"containers\": {
    \"main\": {\"image\": \"ghcr.io/example/backend:1.0.0\"}
  },
  \"resources\": {
    \"sessions\": {\"type\": \"redis\"}
  }
}
",
    ),
    (
        "apps/common.yaml",
        "\
apiVersion: purlin.dev/v1
kind: Deployment
metadata:
  name: shop
spec:
  values:
    domain: example.test
  shared:
    uploads:
      type: s3
    landing:
      type: dns
",
    ),
    (
        "apps/set.yaml",
        "\
modules:
  mailer:
    profile: example/default-module
    spec:
      containers:
        main:
          image: ghcr.io/example/mailer:1.0.0
    externals:
      outbox:
        type: s3
shared:
  archive:
    type: s3
",
    ),
];

/// The keys that are recorded for the folder.
pub(crate) const KEYS: [&str; 13] = [
    "base-env.default#base-env",
    "dns.default#modules.frontend.externals.site",
    "dns.default#shared.landing",
    "k8s-namespace.default#k8s-namespace",
    "policy.default#shared.guard",
    "postgres.default#modules.frontend.externals.orders",
    "redis.default#modules.backend.externals.sessions",
    "s3.default#modules.mailer.externals.outbox",
    "s3.default#shared.archive",
    "s3.default#shared.uploads",
    "workload.default#modules.backend",
    "workload.default#modules.frontend",
    "workload.default#modules.mailer",
];

/// A copy of the deployed folder.
pub(crate) fn deployed() -> Project {
    static DEPLOYED: OnceLock<Project> = OnceLock::new();
    let original = DEPLOYED.get_or_init(|| {
        let project = Project::with(&FILES);
        project.run(&["up", "--yes"]).status(0);
        let mut recorded = project.recorded();
        recorded.sort_unstable();
        assert_eq!(recorded, KEYS);
        project
    });
    original.copy()
}
