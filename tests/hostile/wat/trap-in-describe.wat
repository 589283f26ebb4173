(func $describe (export "purlin:driver/lifecycle@0.1.0#describe") (result i32) (unreachable))
