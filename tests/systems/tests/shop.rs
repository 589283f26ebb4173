//! `examples/shop` on the real servers: created, used, changed outside of Purlin, repaired, and
//! deleted.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs)]

use purlin_systems::shop::Shop;
use purlin_systems::{Example, Project};
use serde_json::{Value, json};

#[track_caller]
fn has(inventory: &[String], line: &str) {
    assert!(inventory.iter().any(|one| one == line), "no `{line}` in {inventory:#?}");
}

#[test]
fn the_shop_is_deployed_and_destroyed_on_real_servers() {
    let Some(shop) = Shop::start() else { return };
    assert_eq!(shop.inventory(), Vec::<String>::new(), "the servers are empty");
    let workspace = Project::empty();
    shop.put_into(workspace.path());

    workspace.purlin(&["up", "apps", "platform", "--yes"]);
    let made = shop.inventory();
    for line in [
        "PostgreSQL role shop_orders",
        "PostgreSQL database shop_orders",
        "DNS zone shop.example.",
        "DNS record www.shop.example. A 203.0.113.10",
        "DNS record api.shop.example. A 203.0.113.10",
        "S3 bucket shop-development-images",
        "S3 policy of shop-development-images",
        "IAM policy use-shop-development-images",
        "IAM role shop-development-modules.web, with use-shop-development-images",
        "IAM role shop-development-modules.orders, with use-shop-development-images",
    ] {
        has(&made, line);
    }
    assert_eq!(made.len(), 10, "{made:#?}");

    // The workload's values work.
    let outputs =
        workspace.purlin(&["outputs", "apps", "platform", "--show-secrets", "--format", "json"]).json();
    let variables = &outputs["workloads"]["orders"]["spec"]["containers"]["main"]["variables"];
    let text = |name: &str| variables[name].as_str().unwrap_or_else(|| panic!("no {name}: {outputs:#}"));
    let sql = "CREATE TABLE orders (id int); INSERT INTO orders VALUES (1); SELECT count(*) FROM orders";
    let counted = shop.postgres.try_as(text("DB_USER"), text("DB_PASSWORD"), text("DB_NAME"), sql);
    assert_eq!(counted.expect("the workload's own access").trim(), "1");
    // Variables of a Score file are text.
    assert_eq!(text("DB_PORT"), shop.postgres.port.to_string());
    assert_eq!(text("ADDRESS"), "api.shop.example");
    assert_eq!(shop.dns.dig("www.shop.example", "A"), ["203.0.113.10"]);
    let put = json!({"Bucket": text("BUCKET"), "Key": "bill", "Body": "1 €"});
    shop.aws.ask("s3", "put_object", put);

    // Nothing changed, so nothing is done; no secret was written anywhere in the clear.
    workspace.purlin(&["up", "apps", "platform", "--yes", "--refresh"]).prints("Nothing to change");
    let shown = workspace.purlin(&["outputs", "apps", "platform"]);
    assert!(!shown.to_string().contains(text("DB_PASSWORD")), "{shown}");

    // Somebody changes things manually: found, reported, repaired.
    shop.postgres.ask("ALTER ROLE shop_orders CREATEDB");
    let record = json!({"rrsets": [{
        "name": "www.shop.example.", "type": "A", "ttl": 60, "changetype": "REPLACE",
        "records": [{"content": "198.51.100.7", "disabled": false}],
    }]});
    assert_eq!(shop.dns.api("PATCH", "/zones/shop.example.", &record).0, 204);
    let versioning =
        json!({"Bucket": "shop-development-images", "VersioningConfiguration": {"Status": "Suspended"}});
    shop.aws.ask("s3", "put_bucket_versioning", versioning);
    workspace
        .purlin(&["up", "apps", "platform", "--yes", "--refresh"])
        .prints("values.role.createdb")
        .prints("198.51.100.7")
        .prints("values.bucket.versioning");
    assert_eq!(shop.inventory(), made);
    assert_eq!(shop.postgres.ask("SELECT rolcreatedb FROM pg_roles WHERE rolname = 'shop_orders'"), "f");
    let versioning =
        shop.aws.ask("s3", "get_bucket_versioning", json!({"Bucket": "shop-development-images"}));
    assert_eq!(versioning["Status"], "Enabled");

    // A bucket with contents is not deleted without consent.
    let kept = workspace.run(&["destroy", "--yes", "--allow-data-loss"]).status(1);
    let kept = kept.prints("shop-development-images");
    assert!(kept.to_string().contains("not empty") || kept.to_string().contains("objects"), "{kept}");
    for version in versions(&shop) {
        shop.aws.ask("s3", "delete_object", version);
    }
    // Nor is a database.
    let kept = workspace.run(&["destroy", "--yes", "--allow-data-loss"]).status(1);
    kept.prints("the database `shop_orders`: it is not empty");
    shop.postgres.ask_in("shop_orders", "DROP TABLE orders");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(shop.inventory(), Vec::<String>::new(), "nothing is left behind");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]).prints("Nothing is recorded");
}

fn versions(shop: &Shop) -> Vec<Value> {
    let listed = shop.aws.ask("s3", "list_object_versions", json!({"Bucket": "shop-development-images"}));
    let all = ["Versions", "DeleteMarkers"].into_iter().flat_map(|kind| listed[kind].as_array().cloned());
    all.flatten()
        .map(|one| {
            json!({"Bucket": "shop-development-images", "Key": one["Key"], "VersionId": one["VersionId"]})
        })
        .collect()
}
