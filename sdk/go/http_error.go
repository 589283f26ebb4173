package purlin

import (
	"fmt"
	"net/url"
	"strings"
)

// FetchError says why Fetch has no complete answer. A driver that returns it, wrapped or not, ends the
// call with the failure of its kind. For methods with effects (all but GET, HEAD and OPTIONS) that is
// Undecided if the request may have been carried out.
type FetchError struct {
	Kind FetchErrorKind
	// Method is that of the request.
	Method string
	// URL is that of the request, without user and query, which may contain secrets.
	URL string
	// Message describes the error.
	Message string
}

// FetchErrorKind is the kind of a FetchError. The names are the same in all languages.
type FetchErrorKind string

const (
	// FetchDenied: no grant allows the request, and nothing was sent. The failure is Denied.
	FetchDenied FetchErrorKind = "denied"
	// FetchUnusable: the URL or a header is wrong, and nothing was sent. It is an ordinary error.
	FetchUnusable FetchErrorKind = "unusable"
	// FetchUnreachable: the server cannot be reached now, and nothing was sent. The failure is
	// RetryAfter.
	FetchUnreachable FetchErrorKind = "unreachable"
	// FetchUntrusted: the server's name is unknown, or TLS does not trust it. Nothing was sent. It is an
	// ordinary error.
	FetchUntrusted FetchErrorKind = "untrusted"
	// FetchLost: the request was sent, at least in part, and no complete answer came. The failure is
	// Undecided for methods with effects, RetryAfter for others.
	FetchLost FetchErrorKind = "lost"
	// FetchTooLarge: the answer is larger than the operator allows. The failure is Undecided for
	// methods with effects; for others it is an ordinary error.
	FetchTooLarge FetchErrorKind = "too-large"
)

func (err FetchError) Error() string {
	text := err.Method + " " + err.URL
	switch {
	case err.Kind == FetchDenied:
		return text + " is denied: " + err.Message
	case err.Kind == FetchLost && hasEffects(err.Method):
		return text + ": " + err.Message + "; it is unknown whether it was carried out"
	default:
		return text + ": " + err.Message
	}
}

// Unwrap returns the failure of the kind, nil if it is an ordinary error.
func (err FetchError) Unwrap() error {
	mayHaveChanged := hasEffects(err.Method)
	switch {
	case err.Kind == FetchDenied:
		return Denied{"http", origin(err.URL), err.Message}
	case err.Kind == FetchLost && mayHaveChanged, err.Kind == FetchTooLarge && mayHaveChanged:
		return Undecided{Message: err.Error()}
	case err.Kind == FetchLost, err.Kind == FetchUnreachable:
		return RetryAfter{shortWait, err.Error()}
	}
	return nil
}

// hasEffects treats an unknown method as one with effects.
func hasEffects(method string) bool {
	return method != "GET" && method != "HEAD" && method != "OPTIONS"
}

// origin is the part of a URL that a grant names.
func origin(of string) string {
	to, err := url.Parse(of)
	if err != nil {
		return of
	}
	return to.Scheme + "://" + to.Host
}

// fail returns the error of a request.
func (request Request) fail(kind FetchErrorKind, message string) error {
	place := request.URL
	if end := strings.IndexAny(place, "?#"); end >= 0 {
		place = place[:end]
	}
	if to, err := url.Parse(place); err == nil {
		to.User = nil
		place = to.String()
	}
	return FetchError{kind, request.Method, place, message}
}

// failWith returns the error of a request that ended with one of httpErrors. Only internal-error has a
// detail.
func (request Request) failWith(number int, detail string) error {
	if number >= len(httpErrors) {
		return request.fail(FetchLost, fmt.Sprintf("unknown error %d", number))
	}
	name := httpErrors[number]
	message := name
	switch {
	case name == "HTTP-request-denied":
		message = "to send a request there"
	case name == "destination-IP-prohibited":
		message = "the name leads to an address that is not public, and has to be granted too"
	case detail != "":
		message += ": " + detail
	}
	return request.fail(kindOf(name), message)
}

// httpErrors are WASI's names for errors, in its order; httpInternal is the last of them.
var httpErrors = [...]string{
	"DNS-timeout", "DNS-error", "destination-not-found", "destination-unavailable",
	"destination-IP-prohibited", "destination-IP-unroutable", "connection-refused",
	"connection-terminated", "connection-timeout", "connection-read-timeout",
	"connection-write-timeout", "connection-limit-reached", "TLS-protocol-error",
	"TLS-certificate-error", "TLS-alert-received", "HTTP-request-denied",
	"HTTP-request-length-required", "HTTP-request-body-size", "HTTP-request-method-invalid",
	"HTTP-request-URI-invalid", "HTTP-request-URI-too-long", "HTTP-request-header-section-size",
	"HTTP-request-header-size", "HTTP-request-trailer-section-size", "HTTP-request-trailer-size",
	"HTTP-response-incomplete", "HTTP-response-header-section-size", "HTTP-response-header-size",
	"HTTP-response-body-size", "HTTP-response-trailer-section-size", "HTTP-response-trailer-size",
	"HTTP-response-transfer-coding", "HTTP-response-content-coding", "HTTP-response-timeout",
	"HTTP-upgrade-failed", "HTTP-protocol-error", "loop-detected", "configuration-error",
	"internal-error",
}

const httpInternal = len(httpErrors) - 1

// kindOf returns FetchLost unless it is certain that nothing was sent.
func kindOf(name string) FetchErrorKind {
	switch name {
	case "HTTP-request-denied", "destination-IP-prohibited":
		return FetchDenied
	case "HTTP-request-method-invalid", "HTTP-request-URI-invalid", "HTTP-request-URI-too-long",
		"HTTP-request-header-section-size", "HTTP-request-header-size",
		// The call has reached its limit of requests.
		"connection-limit-reached":
		return FetchUnusable
	case "DNS-timeout", "destination-not-found", "destination-unavailable", "destination-IP-unroutable",
		"connection-refused", "connection-timeout":
		return FetchUnreachable
	case "DNS-error", "TLS-protocol-error", "TLS-certificate-error", "TLS-alert-received":
		return FetchUntrusted
	case "HTTP-response-body-size":
		return FetchTooLarge
	default:
		return FetchLost
	}
}
