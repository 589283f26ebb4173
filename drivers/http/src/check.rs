//! Checks a declaration before the driver sends anything.

use purlin_sdk::{Failure, Faults, Json, Raw};
use purlin_sdk_http::Parts;

use crate::inputs::{Condition, HttpInputs, Lacking, Operation};
use crate::template;

impl HttpInputs {
    /// Every fault at once.
    pub(crate) fn validate(&self, raw: &Raw<Self>) -> Result<(), Failure> {
        let mut faults = Faults::default();
        let values = &self.values;
        base_url(&self.connection.base_url, &mut faults);
        self.id(&mut faults);
        let operations = [
            ("create", Some(&values.create)),
            ("read", Some(&values.read)),
            ("update", values.update.as_ref()),
            ("delete", Some(&values.delete)),
        ];
        for (name, operation) in operations {
            if let Some(operation) = operation {
                check_operation(name, operation, &mut faults);
            }
        }
        match values.create.path.as_deref() {
            None => faults.add("/values/create/path", "is missing"),
            Some(path) if path.contains('?') && values.read.path.is_none() => {
                faults.add("/values/create/path", "has a query, so `read.path` has to be given");
            }
            Some(_) => {}
        }
        if self.lacks(Lacking::Read) && (values.wait.is_some() || !values.observe.is_empty()) {
            faults
                .add("/values/without", "an API that cannot be read can be neither observed nor waited for");
        }
        for name in values.outputs.keys().filter(|name| values.secret_outputs.contains_key(*name)) {
            faults.add(format!("/values/secret_outputs/{}", escaped(name)), "is also in `outputs`");
        }
        if let Some(find) = &values.find {
            path("/values/find/path", &find.path, &mut faults);
        }
        for place in values.observe.keys() {
            let is_sent =
                ["/create/body", "/update/body", "/vars"].iter().any(|root| place.starts_with(root));
            let there = raw.get(&format!("/values{place}"));
            if !is_sent || there.is_none() {
                let message = "is not in `/create/body`, `/update/body` or `/vars` of the values";
                faults.add(format!("/values/observe/{}", escaped(place)), message);
            }
        }
        self.waits(&mut faults);
        self.open(&raw.sensitive, &mut faults);
        if let Some(gone) = &values.gone_when {
            condition("/values/gone_when", gone, &mut faults);
        }
        if self.connection.bearer.is_some() && self.connection.basic.is_some() {
            faults.add("/connection/basic", "is given together with `bearer`: give one of them");
        }
        faults.into_result()
    }

    fn id(&self, faults: &mut Faults) {
        let id = &self.values.id;
        let ways =
            usize::from(id.pointer.is_some()) + usize::from(id.header.is_some()) + usize::from(id.name);
        if ways > 1 {
            faults.add("/values/id", "comes from one place: `pointer`, `header`, or `name: true`");
        }
        let path = self.read_path();
        if !id.name && !path.contains("{id}") {
            faults.add("/values/read/path", "has no `{id}`, so all resources would be the same one");
        }
        if path.contains("{outputs.") {
            faults.add("/values/read/path", "cannot contain `{outputs.X}`: it identifies the resource");
        }
        if path.matches("{id}").count() > 1 {
            faults.add("/values/read/path", "contains `{id}` more than once");
        }
    }

    /// Rejects secrets in the URL of the resource, which is not secret.
    fn open(&self, sensitive: &[String], faults: &mut Faults) {
        let paths = [self.values.create.path.as_deref().unwrap_or_default(), &self.read_path()].join(" ");
        for place in sensitive {
            let filled = place.strip_prefix("/params/").map(|name| format!("{{params.{name}}}"));
            let filled =
                filled.or_else(|| place.strip_prefix("/values/vars/").map(|name| format!("{{vars.{name}}}")));
            let is_shown = filled.is_some_and(|filled| paths.contains(&filled))
                || matches!(
                    place.as_str(),
                    "/connection/base_url" | "/values/name" | "/values/create/path" | "/values/read/path"
                );
            if is_shown {
                let message = "is a secret, and would be part of the resource's URL, which is not secret";
                faults.add(place.as_str(), message);
            }
        }
    }

    fn waits(&self, faults: &mut Faults) {
        let mut waits = Vec::new();
        if let Some(wait) = &self.values.wait {
            if let Some(place) = &wait.path {
                path("/values/wait/path", place, faults);
            }
            waits.push(("wait", &wait.until, &wait.fail));
        }
        if let Some(operation) = &self.values.operation {
            waits.push(("operation", &operation.until, &operation.fail));
        }
        for (name, until, fail) in waits {
            condition(&format!("/values/{name}/until"), until, faults);
            if let Some(fail) = fail {
                condition(&format!("/values/{name}/fail"), fail, faults);
            }
        }
    }
}

/// Checks the known parts of inputs with unknowns.
pub(crate) fn what_is_known(inputs: &Raw<HttpInputs>) -> Result<(), Failure> {
    let mut faults = Faults::default();
    if let (false, Some(url)) =
        (inputs.is_unknown("/connection/base_url"), inputs.get("/connection/base_url").and_then(Json::as_str))
    {
        base_url(url, &mut faults);
    }
    faults.into_result()
}

fn base_url(url: &str, faults: &mut Faults) {
    match Parts::of(url) {
        Ok(parts) if parts.path.contains('?') => faults.add("/connection/base_url", "takes no query"),
        Ok(_) if url.ends_with('/') => faults.add("/connection/base_url", "must not end with `/`"),
        Ok(_) => {}
        Err(message) => faults.add("/connection/base_url", message),
    }
}

fn check_operation(name: &str, operation: &Operation, faults: &mut Faults) {
    if let Some(template) = &operation.path {
        path(&format!("/values/{name}/path"), template, faults);
    }
    if name == "create" && operation.path.as_ref().is_some_and(|path| path.contains("{id}")) {
        faults.add("/values/create/path", "cannot contain `{id}`, which does not exist yet; use `{name}`");
    }
}

fn path(place: &str, template: &str, faults: &mut Faults) {
    if let Err(message) = template::validate(template) {
        faults.add(place, message);
    }
}

fn condition(place: &str, condition: &Condition, faults: &mut Faults) {
    if condition.equals.is_none() == condition.one_of.is_empty() {
        faults.add(place, "needs either `equals` or `in`");
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
