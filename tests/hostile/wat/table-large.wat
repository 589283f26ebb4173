;; A larger table than any driver gets, from the beginning.
(table $table 10000000 funcref)
