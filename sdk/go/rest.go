package purlin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Client sends requests to a REST API that uses JSON, for one call of the driver. It repeats requests
// that may be repeated, and its answers map to failures.
type Client struct {
	// Server is the base URL of paths.
	Server string
	// Header has the fields of each request, such as Authorization.
	Header Header
	// Call has the idempotency key.
	Call Call
	// Attempts is the number of attempts at a request that may be repeated, 4 if it is 0.
	Attempts int
	// Fetch sends a request. It is the function Fetch if it is nil; tests set another one.
	Fetch func(Request) (Response, error)
}

// Ask is a request of a Client.
type Ask struct {
	Method string
	Path   string
	Query  url.Values
	// Body is written as JSON, unless it is nil.
	Body any
	// Keyed adds the call's idempotency key, so that the request may be repeated.
	Keyed bool
}

// Answer is the server's answer, whatever its status.
type Answer struct {
	Response
	// Target is method and URL, without a query.
	Target string
	// effects is whether the request may have changed something.
	effects    bool
	repeatable bool
}

// longestWait is the longest wait between two attempts.
const longestWait = 10 * time.Second

// shortWait is the time after which it makes sense to ask again, if the server does not say.
const shortWait = time.Second

// Segment writes a text as one segment of a path: a slash in it is encoded too.
func Segment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

// Send sends a request. Each error but one about the body is a FetchError.
func (client Client) Send(ask Ask) (Answer, error) {
	request := Request{Method: ask.Method, URL: strings.TrimRight(client.Server, "/") + ask.Path, Header: Header{}}
	if len(ask.Query) > 0 {
		request.URL += "?" + ask.Query.Encode()
	}
	request.Header.Set("Accept", "application/json")
	for name, values := range client.Header {
		request.Header[name] = values
	}
	if ask.Body != nil {
		body, err := text(ask.Body)
		if err != nil {
			return Answer{}, err
		}
		request.Body = []byte(body)
		request.Header.Set("Content-Type", "application/json")
	}
	if ask.Keyed {
		request.Header.Set("Idempotency-Key", client.Call.IdempotencyKey)
	}
	fetch, attempts := client.Fetch, client.Attempts
	if fetch == nil {
		fetch = Fetch
	}
	if attempts == 0 {
		attempts = 4
	}
	repeatable := ask.Keyed || slices.Contains([]string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}, ask.Method)
	for attempt := 1; ; attempt++ {
		again := attempt < attempts
		// Later attempts wait 200 ms, 400 ms and so on, if the server does not say how long.
		wait := 100 * time.Millisecond << attempt
		response, err := fetch(request)
		if err != nil {
			var failed FetchError
			mayRepeat := errors.As(err, &failed) &&
				(failed.Kind == FetchUnreachable || (failed.Kind == FetchLost && repeatable))
			if again && mayRepeat && client.pause(wait) {
				continue
			}
			return Answer{}, err
		}
		target, _, _ := strings.Cut(request.URL, "?")
		answer := Answer{response, ask.Method + " " + target, hasEffects(ask.Method), repeatable}
		if after, told := answer.RetryAfter(); told {
			wait = after
		}
		if !again || !answer.asksAgain() || !client.pause(wait) {
			return answer, nil
		}
	}
}

// pause waits, if the call has the time for it and the operator has not cancelled it.
func (client Client) pause(wait time.Duration) bool {
	if wait > longestWait || wait >= TimeLeft() || Cancelled() {
		return false
	}
	time.Sleep(wait)
	return true
}

// IsSuccess reports whether the status is one of 200 to 299.
func (answer Answer) IsSuccess() bool { return answer.Status >= 200 && answer.Status < 300 }

// Decode reads the JSON of an answer whose status is a success; numbers in fields of type any become
// json.Number. Of any other status, the error is Failure's. If
// the answer to a request with effects cannot be read, the error is Undecided: it was carried out.
func (answer Answer) Decode(into any) error {
	if !answer.IsSuccess() {
		return answer.Failure()
	}
	if err := parseInto(string(answer.Body), into); err != nil {
		return answer.Unreadable(fmt.Sprintf("the answer is not the JSON expected: %v", err))
	}
	return nil
}

// Unreadable is the error of an answer that lacks data for the driver: Undecided for a request with
// effects, which was carried out, otherwise an ordinary one.
func (answer Answer) Unreadable(message string) error {
	problem := answer.Problem(answer.Target + ": " + message)
	if answer.effects {
		return Undecided(problem)
	}
	return Failed(problem)
}

// Problem is a problem with the details of this answer: its status, and the server's id of the request,
// if the answer has one.
func (answer Answer) Problem(message string) Problem {
	details := map[string]string{"status": strconv.Itoa(answer.Status)}
	for _, name := range []string{"X-Request-Id", "X-Amzn-Requestid", "X-Amz-Request-Id"} {
		if id := answer.Header.Get(name); id != "" {
			details["request-id"] = id
			break
		}
	}
	return Problem{message, details}
}

// Pending is the failure of an answer that was only accepted (202), or that shows an object that is not
// ready or not gone: the host looks again when the server says, or else after a second. Add the State that
// exists.
func (answer Answer) Pending(message string) Pending {
	after, told := answer.RetryAfter()
	if !told {
		after = shortWait
	}
	return Pending{After: after, Message: message}
}

// RetryAfter is the time after which the server wants the next attempt, if it says so.
func (answer Answer) RetryAfter() (time.Duration, bool) {
	told := strings.TrimSpace(answer.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(told, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if then, err := time.Parse(time.RFC1123, told); err == nil {
		return max(0, time.Until(then)), true
	}
	return 0, false
}

// asksAgain reports whether another attempt is useful and harmless.
func (answer Answer) asksAgain() bool {
	switch answer.Status {
	case 429:
		return true
	case 503:
		_, told := answer.RetryAfter()
		return told || answer.repeatable
	case 408, 425, 502, 504:
		return answer.repeatable
	}
	return false
}

// Failure is the failure of this answer: 404 and 410 are NotFound, 409 and 412 a Conflict. If the
// server gave up in the middle of a request with effects, it is Undecided.
func (answer Answer) Failure() error {
	problem := answer.Problem(fmt.Sprintf("%s: status %d%s", answer.Target, answer.Status, answer.serverMessage()))
	after, told := answer.RetryAfter()
	// A 501 or 505 was understood and rejected.
	certain := slices.Contains([]int{501, 505}, answer.Status) || (answer.Status == 503 && told)
	gaveUp := slices.Contains([]int{408, 499}, answer.Status) || (answer.Status >= 500 && !certain)
	if answer.effects && gaveUp {
		return Undecided(problem)
	}
	if answer.asksAgain() {
		if !told {
			after = shortWait
		}
		return RetryAfter{after, problem.Message}
	}
	switch answer.Status {
	case 404, 410:
		return NotFound(problem)
	case 409, 412:
		return Conflict(problem)
	}
	return Failed(problem)
}

// serverMessage is the server's message.
func (answer Answer) serverMessage() string {
	var document map[string]any
	if json.Unmarshal(answer.Body, &document) != nil {
		return ""
	}
	inner, _ := document["error"].(map[string]any)
	for _, object := range []map[string]any{inner, document} {
		for _, name := range []string{"message", "error_description", "error", "detail", "title", "reason"} {
			if text, found := object[name].(string); found {
				line := []rune(strings.Join(strings.Fields(text), " "))
				return ": " + string(line[:min(len(line), 300)])
			}
		}
	}
	return ""
}
