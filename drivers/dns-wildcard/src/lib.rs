//! The built-in driver purlin/dns-wildcard.
