// Package purlinhttp lets net/http, and clients of others that use it, send requests from a driver:
//
//	client := &http.Client{Transport: purlinhttp.Transport{}}
//
// It is a package of its own because net/http makes a component larger, by 1.6 MB where it is only imported
// and by 6.8 MB where an http.Client sends requests, and each call slower. purlin.Client, for a REST API that uses JSON, does without it.
package purlinhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"purlin.dev/purlin"
)

// Transport is an http.RoundTripper over purlin.Fetch, which works within `http` grants. It reads bodies
// and answers completely.
//
// An error is a purlin.FetchError, also where an http.Client wraps it: a driver that returns it ends with
// the failure of its kind, such as Undecided for a lost answer to a request with effects. If a redirect
// that follows such a request fails, the error is FetchLost, because that request was carried out.
//
// A deadline of the context limits the request. A cancellation ends it in native tests; in a component it
// is noticed only before the request is sent.
type Transport struct{}

// RoundTrip sends a request and reads the whole answer.
func (Transport) RoundTrip(asked *http.Request) (*http.Response, error) {
	if asked.Body != nil {
		defer asked.Body.Close()
	}
	answer, err := send(asked)
	if before := redirected(asked); err != nil && before != nil {
		message := "its redirect cannot be followed: " + err.Error()
		return nil, failure(before, purlin.FetchLost, message)
	}
	if err != nil {
		return nil, err
	}
	response := &http.Response{
		Status:     fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status)),
		StatusCode: answer.Status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header(answer.Header),
		Body:          io.NopCloser(bytes.NewReader(answer.Body)),
		ContentLength: int64(len(answer.Body)),
		Request:       asked,
	}
	if length, err := strconv.ParseInt(answer.Header.Get("Content-Length"), 10, 64); err == nil && asked.Method == "HEAD" {
		response.ContentLength = length
	}
	return response, nil
}

func send(asked *http.Request) (purlin.Response, error) {
	ctx := asked.Context()
	unusable := func(message string) (purlin.Response, error) {
		return purlin.Response{}, failure(asked, purlin.FetchUnusable, message)
	}
	switch {
	case asked.URL == nil:
		return unusable("there is no URL")
	case asked.Host != "" && asked.Host != asked.URL.Host:
		return unusable("a Host that is not that of the URL cannot be sent")
	case len(asked.Trailer) > 0:
		return unusable("trailers cannot be sent")
	case ctx.Err() != nil:
		_, err := unusable("nothing was sent")
		return purlin.Response{}, because(err, ctx)
	}
	request := purlin.Request{Method: asked.Method, URL: asked.URL.String(), Header: purlin.Header(asked.Header)}
	if asked.Body != nil {
		body, err := io.ReadAll(asked.Body)
		if err != nil {
			return unusable("its body cannot be read: " + err.Error())
		}
		request.Body = body
	}
	if until, limited := ctx.Deadline(); limited {
		request.Timeout = max(time.Until(until), time.Millisecond)
	}
	type result struct {
		answer purlin.Response
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := purlin.Fetch(request)
		done <- result{answer, err}
	}()
	select {
	case got := <-done:
		return got.answer, because(got.err, ctx)
	case <-ctx.Done():
	}
	select {
	case got := <-done: // Both came while the call was waiting.
		return got.answer, because(got.err, ctx)
	default:
		return purlin.Response{}, because(failure(asked, purlin.FetchLost, "the answer was not waited for"), ctx)
	}
}

// because adds the reason of a context that ended, which clients look for.
func because(err error, ctx context.Context) error {
	ended := ctx.Err()
	if until, limited := ctx.Deadline(); ended == nil && limited && !time.Now().Before(until) {
		ended = context.DeadlineExceeded // Its timer has not run yet.
	}
	if err != nil && ended != nil {
		return fmt.Errorf("%w (%w)", err, ended)
	}
	return err
}

// redirected is the request with effects that this one follows as a redirect; nil if there is none. After a
// 307 or 308, this one takes its place.
func redirected(asked *http.Request) *http.Request {
	for before := asked.Response; before != nil && before.Request != nil; before = before.Request.Response {
		follows := !slices.Contains([]int{307, 308}, before.StatusCode)
		if follows && !slices.Contains([]string{"", "GET", "HEAD", "OPTIONS"}, before.Request.Method) {
			return before.Request
		}
	}
	return nil
}

// failure is an error of a request, without what may be secret in its URL.
func failure(asked *http.Request, kind purlin.FetchErrorKind, message string) error {
	failed := purlin.FetchError{Kind: kind, Method: asked.Method, Message: message}
	if failed.Method == "" {
		failed.Method = "GET"
	}
	if asked.URL != nil {
		place := url.URL{Scheme: asked.URL.Scheme, Host: asked.URL.Host, Path: asked.URL.Path, RawPath: asked.URL.RawPath}
		failed.URL = place.String()
	}
	return failed
}
