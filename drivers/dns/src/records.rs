//! A set of records: all records of one name and type. Its mark is a comment of the set.

use purlin_sdk::{Failure, Json, State, operation};
use purlin_sdk_http::Request;
use serde_json::json;

use crate::DnsOperation;
use crate::inputs::{DnsOutputs, Records as Wanted, contents};
use crate::mark::{self, Whose};
use crate::server::Rrset;

/// The zone, the name and the type that identify a set of records.
pub(crate) struct RrsetId<'a> {
    pub(crate) zone: &'a str,
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
}

impl DnsOperation<'_> {
    /// The set, `None` if it has no records; not found if there is no zone.
    fn set(&self, place: &RrsetId<'_>) -> Result<Option<Rrset>, Failure> {
        let url = self.inputs.zone_url(place.zone);
        let zone = self.api.zone_with(&url, place.name, place.kind)?;
        let zone = zone.ok_or_else(|| Failure::not_found(format!("there is no zone `{}`", place.zone)))?;
        let is_it = |set: &Rrset| set.name.eq_ignore_ascii_case(place.name) && set.kind == place.kind;
        Ok(zone.rrsets.into_iter().find(is_it).filter(|set| !set.records.is_empty()))
    }

    pub(crate) fn create_records(
        &self,
        place: &RrsetId<'_>,
        wanted: &Wanted,
        id: &str,
    ) -> Result<State, Failure> {
        let there = self.set(place)?;
        if let Some(there) = &there {
            self.own_set(place, there)?;
        }
        operation::checkpoint(id);
        self.write(place, wanted, there.as_ref(), id)
    }

    pub(crate) fn update_records(
        &self,
        place: &RrsetId<'_>,
        wanted: &Wanted,
        id: &str,
    ) -> Result<State, Failure> {
        let there = self.set(place)?;
        if let Some(there) = &there {
            self.not_anothers(&shown(place), mark::set(there, &self.subject.guresid))?;
        }
        self.write(place, wanted, there.as_ref(), id)
    }

    /// Replaces the whole set in one request; comments of others stay.
    fn write(
        &self,
        place: &RrsetId<'_>,
        wanted: &Wanted,
        there: Option<&Rrset>,
        id: &str,
    ) -> Result<State, Failure> {
        let records = contents(place.kind, &wanted.content);
        let records: Vec<Json> =
            records.iter().map(|one| json!({"content": one, "disabled": false})).collect();
        let guresid = &self.subject.guresid;
        let mut comments: Vec<Json> = there.map(|set| set.comments.clone()).unwrap_or_default();
        comments.retain(|comment| comment.get("account").and_then(Json::as_str) != Some(guresid.as_str()));
        comments
            .push(json!({"account": guresid, "content": format!("managed by Purlin: {}", self.subject.urn)}));
        let set = json!({
            "name": place.name,
            "type": place.kind,
            "ttl": wanted.ttl,
            "changetype": "REPLACE",
            "records": records,
            "comments": comments,
        });
        self.patch(place, &set)?;
        state(place, wanted.ttl, &contents(place.kind, &wanted.content), id)
    }

    fn patch(&self, place: &RrsetId<'_>, set: &Json) -> Result<(), Failure> {
        let url = self.inputs.zone_url(place.zone);
        self.api.change(Request::patch(url), &json!({"rrsets": [set]}), "/values/records").map(drop)
    }

    pub(crate) fn delete_records(&self, place: &RrsetId<'_>) -> Result<(), Failure> {
        let there = match self.set(place) {
            Ok(Some(there)) => there,
            Ok(None) | Err(Failure::NotFound(_)) => return Ok(()),
            Err(failure) => return Err(failure),
        };
        self.not_anothers(&shown(place), mark::set(&there, &self.subject.guresid))?;
        let set = json!({"name": place.name, "type": place.kind, "changetype": "DELETE"});
        match self.patch(place, &set) {
            Err(Failure::NotFound(_)) => Ok(()),
            result => result,
        }
    }

    /// The set as it is, and the inputs that describe it.
    pub(crate) fn read_records(
        &self,
        place: &RrsetId<'_>,
        id: &str,
        by_name: bool,
    ) -> Result<Option<(State, Json)>, Failure> {
        let there = match self.set(place) {
            Ok(Some(there)) => there,
            Ok(None) | Err(Failure::NotFound(_)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        match by_name {
            true => self.own_set(place, &there)?,
            false => self.not_anothers(&shown(place), mark::set(&there, &self.subject.guresid))?,
        }
        let content = there.contents();
        let values = json!({
            "zone": place.zone, "name": place.name, "type": place.kind, "ttl": there.ttl, "content": content,
        });
        Ok(Some((state(place, there.ttl, &content, id)?, values)))
    }

    fn own_set(&self, place: &RrsetId<'_>, there: &Rrset) -> Result<(), Failure> {
        match mark::set(there, &self.subject.guresid) {
            Whose::Ours => Ok(()),
            Whose::Nobodys | Whose::Anothers => {
                let whose =
                    there.accounts().next().map(|account| format!(", of `{account}`")).unwrap_or_default();
                let content = there.contents().join(", ");
                Err(Failure::conflict(format!(
                    "{} already exists{whose}: {content}; import it",
                    shown(place)
                )))
            }
        }
    }
}

fn shown(place: &RrsetId<'_>) -> String {
    format!("{} {}", place.name, place.kind)
}

fn state(place: &RrsetId<'_>, ttl: u32, content: &[String], id: &str) -> Result<State, Failure> {
    State::new(id).described_outputs(&DnsOutputs {
        name: place.name.to_owned(),
        fqdn: place.name.trim_end_matches('.').to_owned(),
        zone: place.zone.to_owned(),
        record_type: Some(place.kind.to_owned()),
        ttl: Some(ttl),
        content: Some(content.to_vec()),
        ..DnsOutputs::default()
    })
}
