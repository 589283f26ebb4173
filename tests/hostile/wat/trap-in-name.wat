(func $name (export "purlin:driver/lifecycle@0.1.0#name") (param i32) (result i32) (unreachable))
