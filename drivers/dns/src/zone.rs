//! A zone. Its mark is its `account`, which holds the guresid.

use purlin_sdk::{Failure, Json, State, log, operation};
use purlin_sdk_http::Request;
use serde_json::json;

use crate::DnsOperation;
use crate::inputs::{DnsOutputs, Zone as Wanted, servers};
use crate::mark::{self, Whose};
use crate::server::Zone;

/// Seconds for which the names of servers may be cached.
const TTL: u32 = 3600;

impl DnsOperation<'_> {
    fn zone_body(&self, wanted: &Wanted) -> Json {
        json!({
            "kind": wanted.kind,
            "masters": wanted.masters,
            "soa_edit_api": wanted.soa_edit_api,
            "account": self.subject.guresid,
        })
    }

    pub(crate) fn create_zone(&self, name: &str, wanted: &Wanted) -> Result<State, Failure> {
        let url = self.inputs.zone_url(name);
        if let Some(there) = self.api.zone(&url)? {
            self.own_zone(name, &there)?;
        }
        operation::checkpoint(&url);
        let mut body = self.zone_body(wanted);
        if let Json::Object(body) = &mut body {
            body.insert("name".to_owned(), name.into());
            body.insert(
                "nameservers".to_owned(),
                json!(servers(wanted.nameservers.as_deref().unwrap_or_default())),
            );
        }
        if !self.api.make(&self.inputs.zones_url(), &body)? {
            // An earlier attempt created it, or somebody else was faster.
            match self.api.zone(&url)? {
                Some(there) => self.own_zone(name, &there)?,
                None => {
                    return Err(Failure::conflict(format!(
                        "the server reports that the zone `{name}` exists, but does not return it"
                    )));
                }
            }
            return self.update_zone(name, wanted, &State::new(url));
        }
        match self.api.zone(&url) {
            Ok(Some(there)) => zone_state(&url, name, &there),
            Ok(None) => Err(Failure::failed(format!(
                "the zone `{name}` was created, but deleted by others immediately"
            ))),
            Err(failure) => Err(Failure::partial(State::new(url), failure)),
        }
    }

    pub(crate) fn update_zone(&self, name: &str, wanted: &Wanted, before: &State) -> Result<State, Failure> {
        let url = self.inputs.zone_url(name);
        let there = self.api.zone(&url)?;
        let there = there.ok_or_else(|| Failure::not_found(format!("there is no zone `{name}`")))?;
        self.not_anothers(name, mark::zone(&there, &self.subject.guresid))?;
        self.api.change(Request::put(&url), &self.zone_body(wanted), "/values/zone")?;
        let mut state = before.clone();
        if let Some(wanted) = &wanted.nameservers
            && nameservers(name, &there) != servers(wanted)
        {
            let records: Vec<Json> =
                servers(wanted).iter().map(|one| json!({"content": one, "disabled": false})).collect();
            let rrset =
                json!({"name": name, "type": "NS", "ttl": TTL, "changetype": "REPLACE", "records": records});
            let patch = self.api.change(
                Request::patch(&url),
                &json!({"rrsets": [rrset]}),
                "/values/zone/nameservers",
            );
            patch.map_err(|failure| Failure::partial(before.clone(), failure))?;
        }
        match self.api.zone(&url) {
            Ok(Some(there)) => {
                state.outputs = zone_state(&url, name, &there)?.outputs;
                Ok(state)
            }
            Ok(None) => Err(Failure::not_found(format!("there is no longer a zone `{name}`"))),
            Err(failure) => Err(Failure::partial(state, failure)),
        }
    }

    pub(crate) fn delete_zone(&self, name: &str, wanted: &Wanted) -> Result<(), Failure> {
        let url = self.inputs.zone_url(name);
        let Some(there) = self.api.zone(&url)? else { return Ok(()) };
        self.not_anothers(name, mark::zone(&there, &self.subject.guresid))?;
        let left: Vec<String> = there
            .rrsets
            .iter()
            .filter(|set| !(set.name == name && matches!(set.kind.as_str(), "SOA" | "NS")))
            .map(|set| format!("{}/{}", set.name, set.kind))
            .collect();
        if !left.is_empty() && !wanted.force_destroy && wanted.kind != crate::inputs::ZoneKind::Slave {
            let shown = left.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
            let more = if left.len() > 5 { format!(" and {} more", left.len() - 5) } else { String::new() };
            return Err(Failure::conflict(format!(
                "the zone `{name}` is not empty, there are records in it: {shown}{more}; delete them, or set \
                 `zone.force_destroy: true` and run `up`, so that they are deleted with it"
            )));
        }
        self.api.delete(&url)
    }

    /// The zone as it is, and the inputs that describe it.
    pub(crate) fn read_zone(
        &self,
        name: &str,
        wanted: &Wanted,
        by_name: bool,
    ) -> Result<Option<(State, Json)>, Failure> {
        let url = self.inputs.zone_url(name);
        let Some(there) = self.api.zone(&url)? else { return Ok(None) };
        let whose = mark::zone(&there, &self.subject.guresid);
        match by_name {
            true => self.own_zone(name, &there)?,
            false => self.not_anothers(name, whose)?,
        }
        let mut masters = there.masters.clone();
        // Their order does not matter.
        if same(&masters, &wanted.masters) {
            masters.clone_from(&wanted.masters);
        }
        let mut values = json!({
            "name": name,
            "kind": there.kind,
            "masters": masters,
            "soa_edit_api": there.soa_edit_api,
            "force_destroy": wanted.force_destroy,
        });
        if let (Some(_), Json::Object(values)) = (&wanted.nameservers, &mut values) {
            values.insert("nameservers".to_owned(), json!(nameservers(name, &there)));
        }
        Ok(Some((zone_state(&url, name, &there)?, values)))
    }

    fn own_zone(&self, name: &str, there: &Zone) -> Result<(), Failure> {
        match mark::zone(there, &self.subject.guresid) {
            Whose::Ours => {
                log::debug(format!("the zone `{name}` already exists, with this resource's mark"));
                Ok(())
            }
            Whose::Nobodys | Whose::Anothers => {
                let account = match there.account.as_str() {
                    "" => "no account".to_owned(),
                    account => format!("the account `{account}`"),
                };
                Err(Failure::conflict(format!("the zone `{name}` already exists, with {account}; import it")))
            }
        }
    }
}

fn same(a: &[String], b: &[String]) -> bool {
    let sorted = |all: &[String]| {
        let mut all = all.to_vec();
        all.sort();
        all
    };
    sorted(a) == sorted(b)
}

/// The name servers of the zone, according to its own records.
fn nameservers(name: &str, zone: &Zone) -> Vec<String> {
    let apex = zone.rrsets.iter().find(|set| set.name == name && set.kind == "NS");
    apex.map(crate::server::Rrset::contents).unwrap_or_default()
}

fn zone_state(url: &str, name: &str, zone: &Zone) -> Result<State, Failure> {
    State::new(url).described_outputs(&DnsOutputs {
        name: name.to_owned(),
        fqdn: name.trim_end_matches('.').to_owned(),
        zone: name.to_owned(),
        kind: Some(zone.kind.clone()),
        nameservers: Some(nameservers(name, zone)),
        ..DnsOutputs::default()
    })
}
