//! Components that hurt whoever reads or compiles them. They do it in a process of their own.

use crate::harness::component;

/// A component with one section.
fn section(id: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
    bytes.push(id);
    number(&mut bytes, content.len());
    bytes.extend_from_slice(content);
    bytes
}

/// LEB128.
fn number(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 127 {
        bytes.push(u8::try_from(number & 127).expect("seven bits") | 128);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).expect("seven bits"));
}

/// Instance types within instance types: each level is one declaration of a type.
fn nested_instance_types(levels: usize) -> Vec<u8> {
    let mut content = vec![1];
    for _ in 0..levels {
        content.extend([0x42, 1, 1]);
    }
    content.extend([0x42, 0]);
    section(7, &content)
}

/// A component around a module with one function that has this body.
fn function(body: &[u8]) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // One type without parameters and results, one function of that type.
    module.extend([1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0]);
    let mut code = vec![1];
    number(&mut code, body.len());
    code.extend_from_slice(body);
    module.push(10);
    number(&mut module, code.len());
    module.extend(code);
    section(1, &module)
}

#[test]
fn types_within_types() {
    for levels in [700, 5_000, 100_000] {
        component("types-within-types", nested_instance_types(levels)).refused("");
    }
    component("types-within-types", nested_instance_types(10_000_000)).refused("");
}

#[test]
fn code_that_takes_long_to_compile() {
    // Blocks within blocks, and a table that leads to the end of each.
    let levels = 60_000;
    let mut body = vec![0];
    for _ in 0..levels {
        body.extend([0x02, 0x40]);
    }
    for _ in 0..3 {
        body.extend([0x41, 0, 0x0e]);
        number(&mut body, levels);
        for level in 0..=levels {
            number(&mut body, level);
        }
    }
    body.extend(std::iter::repeat_n(0x0b, levels + 1));
    component("long-to-compile", function(&body)).refused("");
}

#[test]
fn code_that_takes_much_memory_to_compile() {
    // Locals that are all alive at once, again and again.
    let locals = 40_000;
    let mut body = vec![1];
    number(&mut body, locals);
    body.push(0x7e);
    for _ in 0..20 {
        for local in 0..locals {
            body.push(0x20);
            number(&mut body, local);
            body.extend([0x42, 1, 0x7c, 0x21]);
            number(&mut body, local);
        }
        body.extend([0x03, 0x40, 0x41, 0, 0x0d, 0, 0x0b]);
    }
    body.push(0x0b);
    component("much-to-compile", function(&body)).refused("");
}

#[test]
fn bytes_that_are_nearly_components() {
    let good = crate::common::component("hostile/honest");
    for end in (9..good.len()).step_by(good.len() / 7) {
        component("torn", good[..end].to_vec()).refused("not a valid component");
    }
}
