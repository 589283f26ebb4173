//! The tiers of the tests: each test is in exactly one, by what it needs.

/// The tests of the tier [`Tier::Languages`].
const LANGUAGES: &str = "binary(/^kits/) | binary(sdks) | binary(embed)";

/// The other tests that start servers, and those in which a process or a machine dies at any moment. A test
/// of the tier [`Tier::Host`] that starts a server fails and names this place.
const SYSTEMS: &str = "package(purlin-systems) | binary(crash) | binary(simulator) | binary(pages) & test(server) \
     | package(purlin-state) & binary(state) & test(/postgres|^pool|^life::|^crash::|^journal::/) \
     | package(purlin-host) & binary(host) & test(/^sharing::/)";

/// Tests that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// No server and no compiler of another language.
    Host,
    /// Real servers, and machines that die.
    Systems,
    /// Drivers in every language, and programs that embed Purlin.
    Languages,
}

impl Tier {
    const ALL: [Self; 3] = [Self::Host, Self::Systems, Self::Languages];

    /// The tier that the first argument names, if it names one, and the other arguments.
    pub(super) fn chosen(arguments: &[String]) -> (Option<Self>, &[String]) {
        let named = |name: &String| Self::ALL.into_iter().find(|tier| tier.name() == name);
        match arguments.split_first().and_then(|(first, rest)| Some((named(first)?, rest))) {
            Some((tier, rest)) => (Some(tier), rest),
            None => (None, arguments),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Systems => "systems",
            Self::Languages => "languages",
        }
    }

    /// The tests of the tier, as nextest selects them.
    pub(crate) fn filter(self) -> String {
        match self {
            Self::Host => format!("not ({SYSTEMS} | {LANGUAGES})"),
            Self::Systems => format!("({SYSTEMS}) & not ({LANGUAGES})"),
            Self::Languages => LANGUAGES.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_argument_may_name_a_tier() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let (named, other) = (words("systems -E all()"), words("a_test --nocapture"));
        assert_eq!(Tier::chosen(&named), (Some(Tier::Systems), &named[1..]));
        assert_eq!(Tier::chosen(&other), (None, &*other));
    }
}
