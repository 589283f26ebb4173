//! Further names in a workload's spec, beside those of Score, that templates written elsewhere
//! expect.

use purlin_sdk::{Json, Object};

/// The params with further names in `spec`, if they are absent: a port of a service can also be
/// read as `service_port` and `container_port`.
pub(crate) fn familiar(mut params: Object) -> Object {
    let ports = params
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("service"))
        .and_then(|service| service.get_mut("ports"))
        .and_then(Json::as_object_mut);
    for port in ports.into_iter().flat_map(Object::values_mut).filter_map(Json::as_object_mut) {
        let Some(outer) = port.get("port").cloned() else { continue };
        let inner = port.get("targetPort").cloned().unwrap_or_else(|| outer.clone());
        port.entry("service_port").or_insert(outer);
        port.entry("container_port").or_insert(inner);
    }
    params
}
