;; A larger initial table than any driver may have.
(table $table 10000000 funcref)
