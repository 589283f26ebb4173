//! The words of pets: common, short, and kind.

pub(crate) const ADVERBS: &[&str] = &[
    "barely", "boldly", "briefly", "brightly", "calmly", "clearly", "daily", "deeply", "eagerly", "early",
    "easily", "fairly", "firmly", "freely", "freshly", "fully", "gently", "gladly", "greatly", "happily",
    "highly", "kindly", "largely", "lightly", "mildly", "mostly", "neatly", "openly", "plainly", "quickly",
    "quietly", "rarely", "really", "safely", "simply", "slowly", "softly", "surely", "swiftly", "truly",
    "warmly", "widely", "wisely",
];

pub(crate) const ADJECTIVES: &[&str] = &[
    "able", "agile", "amber", "apt", "awake", "bold", "brave", "breezy", "bright", "brisk", "busy", "calm",
    "careful", "cheerful", "clear", "clever", "cosy", "crisp", "curious", "daring", "deft", "eager", "early",
    "earnest", "easy", "fair", "famous", "fast", "fine", "fit", "fleet", "fond", "fresh", "gentle", "glad",
    "golden", "good", "grand", "happy", "hardy", "honest", "humble", "jolly", "keen", "kind", "large",
    "light", "lively", "loyal", "lucky", "merry", "mild", "modest", "neat", "nimble", "noble", "open",
    "patient", "plain", "polite", "proud", "quick", "quiet", "rapid", "ready", "robust", "round", "royal",
    "safe", "sharp", "shiny", "silent", "simple", "sleek", "smart", "smooth", "snug", "sober", "solid",
    "spry", "steady", "stout", "strong", "sunny", "sure", "swift", "tall", "tidy", "trim", "true", "trusty",
    "vivid", "warm", "wise", "witty", "young", "zesty",
];

pub(crate) const ANIMALS: &[&str] = &[
    "alpaca", "ant", "badger", "bat", "bear", "beaver", "bee", "bison", "boar", "bull", "camel", "carp",
    "cat", "cobra", "cod", "cow", "crab", "crane", "crow", "deer", "dingo", "dog", "donkey", "dove", "duck",
    "eagle", "eel", "elk", "falcon", "ferret", "finch", "fish", "fox", "frog", "gecko", "gibbon", "goat",
    "goose", "gull", "hare", "hawk", "hen", "heron", "horse", "hyena", "ibex", "ibis", "jackal", "jay",
    "kiwi", "koala", "lark", "lemur", "lion", "lizard", "llama", "lobster", "lynx", "magpie", "marten",
    "mole", "moose", "moth", "mouse", "mule", "newt", "otter", "owl", "ox", "oyster", "panda", "parrot",
    "pig", "pigeon", "pony", "puffin", "puma", "quail", "rabbit", "ram", "raven", "robin", "salmon", "seal",
    "shark", "sheep", "shrew", "shrimp", "skunk", "sloth", "snail", "snake", "sparrow", "spider", "squid",
    "stork", "swan", "tapir", "tiger", "toad", "trout", "turtle", "viper", "walrus", "wasp", "weasel",
    "whale", "wolf", "wombat", "wren", "yak", "zebra",
];
