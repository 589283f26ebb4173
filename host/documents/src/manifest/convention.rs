//! The groups whose kinds refer to one another by fields such as `vpcIdRef`, without a description:
//! that is the convention of Crossplane's providers, Config Connector and ACK, and of the groups
//! that the workspace adds (SPEC §7). In every other group, such a field is a value like any other.

use std::sync::Arc;

use purlin_model::matches_pattern;

/// The groups of that convention.
const GROUPS: [&str; 4] =
    ["*.crossplane.io", "*.upbound.io", "*.cnrm.cloud.google.com", "*.services.k8s.aws"];

/// Groups of Crossplane and Upbound themselves: compositions, packages and operations name other
/// manifests in ways of their own.
const NEVER: [&str; 7] = ["apiextensions", "dev", "*.dev", "meta.pkg", "ops", "pkg", "protection"];
const THEIRS: [&str; 2] = ["crossplane.io", "upbound.io"];

/// The conventions in force.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Convention<'a> {
    /// The patterns that the workspace adds.
    pub(crate) added: &'a [Arc<str>],
}

impl Convention<'_> {
    /// Whether the kinds of a group refer to one another by convention.
    pub(crate) fn covers(&self, group: &str) -> bool {
        let patterns = GROUPS.into_iter().chain(self.added.iter().map(|pattern| &**pattern));
        !is_never(group) && patterns.into_iter().any(|pattern| matches_pattern(pattern, group))
    }
}

/// Whether a group has no references by convention, whatever the workspace says.
pub(crate) fn is_never(group: &str) -> bool {
    THEIRS.iter().any(|owner| {
        let label = group.strip_suffix(owner).and_then(|label| label.strip_suffix('.'));
        label.is_some_and(|label| NEVER.iter().any(|pattern| matches_pattern(pattern, label)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_the_convention_are_covered() {
        let added = ["*.acme.dev".into(), "example.org".into()];
        let covered = |group: &str| Convention { added: &added }.covers(group);
        for group in [
            "ec2.aws.crossplane.io",
            "aws.crossplane.io",
            "network.azure.upbound.io",
            "ec2.aws.m.upbound.io",
            "pubsub.cnrm.cloud.google.com",
            "ec2.services.k8s.aws",
            "ec2.acme.dev",
            "example.org",
        ] {
            assert!(covered(group), "{group}");
        }
        for group in [
            "",
            "apps",
            "gateway.networking.k8s.io",
            "cert-manager.io",
            "keda.sh",
            "kustomize.toolkit.fluxcd.io",
            "apiextensions.crossplane.io",
            "pkg.crossplane.io",
            "meta.pkg.crossplane.io",
            "pkg.upbound.io",
            "meta.dev.upbound.io",
            "dev.upbound.io",
            "crossplane.io",
            "a.example.org",
        ] {
            assert!(!covered(group), "{group}");
        }
    }
}
