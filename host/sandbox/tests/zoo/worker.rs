//! Components that attack the reader or compiler, which run in a separate process.

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

/// This many nested loops, all of which change this many locals.
fn loops_and_locals(loops: usize, locals: usize) -> Vec<u8> {
    let mut body = vec![1];
    number(&mut body, locals);
    body.push(0x7f);
    for _ in 0..loops {
        body.extend([0x03, 0x40]);
    }
    for local in 0..locals {
        body.push(0x20);
        number(&mut body, local);
        body.extend([0x41, 1, 0x6a, 0x21]);
        number(&mut body, local);
    }
    for _ in 0..loops {
        body.extend([0x20, 0, 0x0d, 0, 0x0b]);
    }
    body.push(0x0b);
    function(&body)
}

#[test]
fn deeply_nested_types_are_rejected() {
    component("types-within-types", nested_instance_types(700)).refused("");
    for levels in [5_000, 100_000, 1_000_000] {
        component("types-within-types", nested_instance_types(levels))
            .refused("its parts are nested too deep");
    }
}

#[test]
fn code_that_takes_long_to_compile_is_rejected() {
    // On a fast machine it reaches the memory limit before the time limit, 10 s.
    component("long-to-compile", loops_and_locals(3_000, 3_000)).refused("takes more than 1");
}

#[test]
fn code_that_takes_much_memory_to_compile_is_rejected() {
    component("much-to-compile", loops_and_locals(20_000, 40_000)).refused("takes more than 1 GiB of memory");
}

#[test]
fn truncated_components_are_rejected() {
    let good = crate::common::component("hostile/honest");
    for end in (9..good.len()).step_by(good.len() / 7) {
        component("torn", good[..end].to_vec()).refused("not a valid component");
    }
}
