// SHA-256 (FIPS 180-4).
#ifndef PURLIN_SHA256_H
#define PURLIN_SHA256_H

#include "text.h"

// The digest of a text, as 64 hexadecimal digits.
text sha256_hex(text message);

#endif
