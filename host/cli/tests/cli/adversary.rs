//! A project with a test driver that does whatever its inputs say, good or bad.

use purlin_systems::Project;
use purlin_systems::tools::component;

/// A project with the driver, and a definition of `thing` that uses it.
pub(crate) fn adversarial(values: &str, limits: &str) -> Project {
    Project::with(&[
        (
            "purlin.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{app: shop, env: dev}}\n  drivers:\n    acme/guests:\n      source: {}\n      limits: {limits}\n",
                component("guests").display()
            ),
        ),
        (
            "things.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: thing}}\nspec:\n  type: thing\n  driver: acme/guests\n  inputs:\n    values: {values}\n    secrets: {{password: correct-horse}}\n  criteria: [{{}}]\n"
            ),
        ),
        (
            "deploy.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  shared:\n    one: {type: thing}\n    two: {type: dns}\n",
        ),
        (
            "dns.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\nspec:\n  type: dns\n  driver: purlin/echo\n  inputs: {values: {host: example.test}}\n  criteria: [{}]\n",
        ),
    ])
}
