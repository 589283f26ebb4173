//! The outputs, parameters and credentials of a bundle as one table (SPEC §6): for each value its
//! name, its `$id`, its schema, whether it is declared, where it comes from, and whether it is
//! secret. The choice of bundles, the wiring of values, masking and explanations all read this
//! table.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::share::Offered;
use crate::{Binding, Bundle, Declared, Interface, Piece, Placeholder, Setting, Template, Value};

/// The three kinds of values of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueKind {
    /// An output.
    Output,
    /// A setting: a parameter or a credential.
    Setting(Setting),
}

impl ValueKind {
    /// A parameter.
    pub const PARAMETER: Self = Self::Setting(Setting::Parameter);
    /// A credential.
    pub const CREDENTIAL: Self = Self::Setting(Setting::Credential);

    /// Its name for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::PARAMETER => "parameter",
            Self::CREDENTIAL => "credential",
        }
    }
}

/// Where a value of an installation comes from.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ValueSource {
    /// From the parent, a person, the output of a requirement, or the default.
    Given,
    /// The driver returns it.
    Driver,
    /// The bundle makes it from outputs of a requirement. Overrides every other source.
    #[strum(serialize = "requirement")]
    Promoted(Binding),
    /// It is the parameter with this name.
    Parameter(Arc<str>),
    /// It is this constant.
    Default(Value),
    /// An installation of another environment has it.
    #[strum(serialize = "installation")]
    Existing,
    /// Nothing gives it: it has no value, or only steps of another tool give it.
    Nothing,
}

impl ValueSource {
    /// Its name in JSON: `from` of `bundle explain`.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

/// One value of a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its kind.
    pub kind: ValueKind,
    /// What others see of it.
    pub offered: Offered,
    /// Whether the bundle declares it. A promoted output need not be declared.
    pub is_declared: bool,
    /// Where it comes from.
    pub source: ValueSource,
}

/// All values of a bundle, or all that an interface asks for.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
    /// The places of the rows of a name, and of a `$id`: a bundle may have a hundred thousand.
    by_name: Index,
    by_id: Index,
}

/// The places of rows, by their kind and a name.
type Index = HashMap<ValueKind, HashMap<Arc<str>, Vec<usize>>>;

impl FromIterator<Row> for Table {
    fn from_iter<R: IntoIterator<Item = Row>>(rows: R) -> Self {
        let mut table = Self::default();
        rows.into_iter().for_each(|row| table.push(row));
        table
    }
}

impl Table {
    /// The values of a bundle.
    pub fn of(bundle: &Bundle) -> Self {
        let given = |kind: ValueKind, declared: &Declared| {
            let mut offered = Offered::from(declared);
            offered.is_sensitive |= kind == ValueKind::CREDENTIAL;
            Row { kind, offered, is_declared: true, source: ValueSource::Given }
        };
        let parameters = bundle.parameters.iter().map(|one| given(ValueKind::PARAMETER, one));
        let credentials = bundle.credentials.iter().map(|one| given(ValueKind::CREDENTIAL, one));
        let mut table: Self = parameters.chain(credentials).collect();
        let promoted: Vec<&Binding> = bundle.requires.iter().flat_map(|one| &one.outputs).collect();
        // Each output takes the first binding of its name that no other one has taken.
        let mut of_name: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (at, binding) in promoted.iter().enumerate() {
            of_name.entry(&*binding.name).or_default().push_back(at);
        }
        for declared in &bundle.outputs {
            let offered = Offered::from(declared);
            let own = of_name.get_mut(&*declared.name).and_then(VecDeque::pop_front);
            let source = match (own.and_then(|at| promoted.get(at)), &bundle.driver) {
                (Some(binding), _) => ValueSource::Promoted((*binding).clone()),
                (None, Some(_)) => ValueSource::Driver,
                (None, None) => table.registered(&offered, declared),
            };
            table.push_output(offered, true, source);
        }
        let mut others: Vec<usize> = of_name.into_values().flatten().collect();
        others.sort_unstable();
        for binding in others.into_iter().filter_map(|at| promoted.get(at).copied()) {
            let schema = schema_of(&binding.value);
            let offered = Offered { name: Arc::clone(&binding.name), schema, ..Offered::default() };
            table.push_output(offered, false, ValueSource::Promoted(binding.clone()));
        }
        table
    }

    /// The outputs of an existing installation.
    pub fn of_existing(offers: &[Offered]) -> Self {
        let row = |offered: &Offered| Row {
            kind: ValueKind::Output,
            offered: offered.clone(),
            is_declared: true,
            source: ValueSource::Existing,
        };
        offers.iter().map(row).collect()
    }

    /// The values that an interface asks for. `by_reference` is the bundle that it refers to.
    pub fn of_interface(interface: &Interface, by_reference: Option<&Bundle>) -> Self {
        if let Some(bundle) = by_reference {
            return Self::of(bundle);
        }
        let asked = |kind: ValueKind, all: &[Declared]| -> Vec<Row> {
            let row = |one: &Declared| Row {
                kind,
                offered: Offered::from(one),
                is_declared: true,
                source: ValueSource::Given,
            };
            all.iter().map(row).collect()
        };
        let Interface { outputs, parameters, credentials, .. } = interface;
        let rows = [
            asked(ValueKind::Output, outputs),
            asked(ValueKind::PARAMETER, parameters),
            asked(ValueKind::CREDENTIAL, credentials),
        ];
        rows.into_iter().flatten().collect()
    }

    /// The source of an output of a bundle without a driver: the same parameter, else its default.
    fn registered(&self, output: &Offered, declared: &Declared) -> ValueSource {
        match (self.counterpart(ValueKind::PARAMETER, output), &declared.default) {
            (Some(parameter), _) => ValueSource::Parameter(Arc::clone(&parameter.offered.name)),
            (None, Some(default)) => ValueSource::Default(default.clone()),
            (None, None) => ValueSource::Nothing,
        }
    }

    /// Adds an output. If it is a parameter, either both are secret or neither is.
    fn push_output(&mut self, mut offered: Offered, is_declared: bool, source: ValueSource) {
        if let ValueSource::Parameter(name) = &source {
            let at = places(&self.by_name, ValueKind::PARAMETER, name).next();
            if let Some(parameter) = at.and_then(|at| self.rows.get_mut(at)) {
                let either = parameter.offered.is_sensitive || offered.is_sensitive;
                (parameter.offered.is_sensitive, offered.is_sensitive) = (either, either);
            }
        }
        self.push(Row { kind: ValueKind::Output, offered, is_declared, source });
    }

    fn push(&mut self, row: Row) {
        let at = self.rows.len();
        let names = self.by_name.entry(row.kind).or_default();
        names.entry(Arc::clone(&row.offered.name)).or_default().push(at);
        if let Some(id) = &row.offered.id {
            self.by_id.entry(row.kind).or_default().entry(Arc::clone(id)).or_default().push(at);
        }
        self.rows.push(row);
    }

    /// All values.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The values of a kind.
    pub fn of_kind(&self, kind: ValueKind) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.kind == kind)
    }

    /// The value with a name, else with this `$id`.
    pub fn named(&self, kind: ValueKind, name: &str) -> Option<&Row> {
        let mut places = places(&self.by_name, kind, name).chain(places(&self.by_id, kind, name));
        places.next().and_then(|at| self.rows.get(at))
    }

    /// The values with a name, in their order.
    pub fn all_named(&self, kind: ValueKind, name: &str) -> impl Iterator<Item = &Row> {
        places(&self.by_name, kind, name).filter_map(|at| self.rows.get(at))
    }

    /// The first value with this `$id`.
    pub fn with_id(&self, kind: ValueKind, id: &str) -> Option<&Row> {
        places(&self.by_id, kind, id).next().and_then(|at| self.rows.get(at))
    }

    /// The declaration of a parameter or a credential. The bundle is that of the table.
    pub fn declared<'b>(&self, bundle: &'b Bundle, part: Setting, name: &str) -> Option<&'b Declared> {
        // The rows begin with the parameters and the credentials, in the order of the bundle.
        let at = places(&self.by_name, ValueKind::Setting(part), name).next()?;
        let declared = match part {
            Setting::Parameter => bundle.parameters.get(at),
            Setting::Credential => bundle.credentials.get(at.checked_sub(bundle.parameters.len())?),
        };
        declared.filter(|one| *one.name == *name)
    }

    /// The value that is the same as one of another table.
    pub fn counterpart(&self, kind: ValueKind, other: &Offered) -> Option<&Row> {
        let by_id = other.id.iter().flat_map(|id| places(&self.by_id, kind, id));
        let places = by_id.chain(places(&self.by_name, kind, &other.name));
        let rows = places.filter_map(|at| Some((at, self.rows.get(at)?)));
        rows.filter(|(_, row)| row.offered.is_same(other)).min_by_key(|(at, _)| *at).map(|(_, row)| row)
    }

    /// Its outputs, as others see them.
    pub fn outputs(&self) -> Vec<Offered> {
        self.of_kind(ValueKind::Output).map(|row| row.offered.clone()).collect()
    }

    /// The outputs that are made from those of requirements.
    pub fn promoted(&self) -> impl Iterator<Item = (&Arc<str>, &Binding)> {
        self.of_kind(ValueKind::Output).filter_map(|row| match &row.source {
            ValueSource::Promoted(binding) => Some((&row.offered.name, binding)),
            _ => None,
        })
    }

    /// The names of the secret values of a kind.
    pub fn secrets(&self, kind: ValueKind) -> impl Iterator<Item = &Arc<str>> {
        self.of_kind(kind).filter(|row| row.offered.is_sensitive).map(|row| &row.offered.name)
    }
}

/// The places of the rows of a kind with this name or `$id`.
fn places<'t>(index: &'t Index, kind: ValueKind, key: &str) -> impl Iterator<Item = usize> + use<'t> {
    index.get(&kind).and_then(|names| names.get(key)).into_iter().flatten().copied()
}

/// What is certain about the values of a template.
fn schema_of(template: &Template) -> serde_json::Map<String, serde_json::Value> {
    let converts = |placeholder: &Placeholder| {
        placeholder.modifiers.as_ref().is_some_and(|modifiers| !modifiers.pipes.is_empty())
    };
    let kind = match template {
        Template::Constant(value) if !value.has_secret() => {
            return [("const".to_owned(), value.redact())].into_iter().collect();
        }
        Template::Constant(_) => return serde_json::Map::new(),
        Template::Text(pieces) => match &**pieces {
            [Piece::Placeholder(placeholder)] if !converts(placeholder) => return serde_json::Map::new(),
            _ => "string",
        },
        Template::List(_) => "array",
        Template::Map(_) => "object",
    };
    [("type".to_owned(), kind.into())].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(name: &str, id: Option<&str>, is_sensitive: bool) -> Declared {
        Declared {
            name: name.into(),
            id: id.map(Arc::from),
            description: None,
            schema: serde_json::Map::new(),
            default: None,
            source: None,
            is_required: false,
            is_sensitive,
            location: crate::Location::default(),
        }
    }

    /// An output that is a parameter is as secret as that, and the other way round; a `$id` decides
    /// which parameter it is.
    #[test]
    fn an_output_and_its_parameter_are_one_value() {
        for (parameter, output, expected) in [
            (declared("a", None, true), declared("a", None, false), Some(true)),
            (declared("a", None, false), declared("a", Some("urn:a"), true), Some(true)),
            (declared("b", Some("urn:a"), false), declared("a", Some("urn:a"), true), Some(true)),
            (declared("a", Some("urn:b"), true), declared("a", Some("urn:a"), false), None),
            (declared("a", None, false), declared("a", None, false), Some(false)),
        ] {
            let name = Arc::clone(&parameter.name);
            let bundle = Bundle {
                parameters: vec![parameter],
                outputs: vec![output],
                ..Bundle::requiring(Vec::new())
            };
            let table = Table::of(&bundle);
            let [parameter, output] = table.rows() else { panic!("{table:?}") };
            match expected {
                Some(secret) => {
                    assert_eq!(output.source, ValueSource::Parameter(name));
                    assert_eq!([parameter, output].map(|row| row.offered.is_sensitive), [secret; 2]);
                }
                None => assert_eq!(output.source, ValueSource::Nothing),
            }
        }
    }
}
