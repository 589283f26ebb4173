(memory $memory (export "memory") 4)
