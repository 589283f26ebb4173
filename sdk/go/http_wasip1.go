package purlin

import (
	"fmt"
	"net/textproto"
	"net/url"
	"slices"
	"sync"
)

// Requests over WASI's own HTTP, wasi:http 0.2.

// chunk is the number of bytes written or read at once; WASI accepts no more in a write.
const chunk = 4096

// headRoom is the space for the fields of an answer.
const headRoom = 512 << 10

// fetching serialises requests: they share the space for answers. An import that waits lets no other
// goroutine run anyway.
var fetching sync.Mutex

func fetch(request Request, to *url.URL) (Response, error) {
	fetching.Lock()
	defer fetching.Unlock()
	fields := httpFields()
	if len(request.Body) > 0 && request.Header.Get("Content-Length") == "" {
		// Without it the body would be sent in chunks, which not every server accepts.
		httpAppend(fields, "Content-Length", fmt.Sprint(len(request.Body)), keep(new(httpDone)))
	}
	for name, values := range request.Header {
		for _, value := range values {
			var done httpDone
			httpAppend(fields, name, value, keep(&done))
			if done.failed {
				return Response{}, request.fail(FetchUnusable, fmt.Sprintf("the header field `%s` cannot be sent", name))
			}
		}
	}
	sent := httpRequest(fields)
	method := slices.Index(httpMethods[:], request.Method)
	if method < 0 {
		method = len(httpMethods)
	}
	scheme := uint32(0)
	if to.Scheme == "https" {
		scheme = 1
	}
	if httpSetMethod(sent, uint32(method), request.Method)|
		httpSetScheme(sent, 1, scheme, "")|
		httpSetAuthority(sent, 1, to.Host)|
		httpSetPath(sent, 1, to.RequestURI()) != 0 {
		return Response{}, request.fail(FetchUnusable, "the method or the URL cannot be sent")
	}
	// Without one there is nothing to send in chunks.
	var body httpHandle
	if len(request.Body) > 0 {
		httpRequestBody(sent, keep(&body))
	}
	hasOptions, options := uint32(0), uint32(0)
	if wait := request.Timeout; wait > 0 {
		hasOptions, options = 1, httpOptions()
		httpSetConnectTimeout(options, 1, uint64(wait.Nanoseconds()))
		httpSetFirstByteTimeout(options, 1, uint64(wait.Nanoseconds()))
		httpSetBetweenBytesTimeout(options, 1, uint64(wait.Nanoseconds()))
	}
	var future httpFuture
	release := reserve(chunk)
	defer release()
	httpHandleRequest(sent, hasOptions, options, keep(&future))
	if future.failed {
		return Response{}, future.code.err(request)
	}
	defer httpDropFuture(future.code.handle())
	if len(request.Body) > 0 {
		sendBody(body.handle, request.Body)
	}
	return receive(future.code.handle(), request)
}

// sendBody sends a body and its end. An error, or a server that does not accept all of it, shows in
// the answer.
func sendBody(body uint32, bytes []byte) {
	var stream httpHandle
	httpBodyWrite(body, keep(&stream))
	for part := range slices.Chunk(bytes, chunk) {
		var done ioDone
		ioWrite(stream.handle, string(part), keep(&done))
		if done.failed {
			break
		}
	}
	ioDropOutput(stream.handle)
	httpBodyFinish(body, 0, 0, keep(new(httpFuture)))
}

func receive(future uint32, request Request) (Response, error) {
	ready := httpSubscribe(future)
	ioBlock(ready)
	ioDropPollable(ready)
	var got httpGot
	httpGet(future, keep(&got))
	switch {
	case !got.some || got.taken:
		return Response{}, request.fail(FetchLost, "there is no answer")
	case got.failed:
		return Response{}, got.code.err(request)
	}
	answer := got.code.handle()
	defer httpDropResponse(answer)
	response := Response{Status: int(httpStatus(answer)), Header: Header{}}
	fields := httpHeaders(answer)
	var entries span
	release := reserve(headRoom)
	httpEntries(fields, keep(&entries))
	for _, entry := range items[[2]span](entries) {
		// The data must outlive the buffer that it was read into.
		textproto.MIMEHeader(response.Header).Add(copied(entry[0]), copied(entry[1]))
	}
	release()
	httpDropFields(fields)
	var body, stream httpHandle
	httpConsume(answer, keep(&body))
	httpBodyStream(body.handle, keep(&stream))
	defer httpDropBody(body.handle)
	defer ioDropInput(stream.handle)
	for {
		var part ioRead
		release := reserve(16 * chunk)
		ioBlockingRead(stream.handle, 16*chunk, keep(&part))
		if part.failed {
			release()
			if part.bytes.start&0xff == 1 { // closed: that was all
				return response, nil
			}
			return Response{}, brokenOff(part.bytes.length, request)
		}
		response.Body = append(response.Body, part.bytes.text()...)
		release()
	}
}

// brokenOff returns the error of an answer that ended early. The host knows the cause by its handle.
func brokenOff(cause uint32, request Request) error {
	var reason httpReason
	release := reserve(chunk)
	defer release()
	httpErrorCode(cause, keep(&reason))
	if !reason.some {
		return request.fail(FetchLost, "the answer broke off")
	}
	return reason.code.err(request)
}

func copied(s span) string { return string([]byte(s.text())) }

// httpMethods are those that WASI numbers.
var httpMethods = [...]string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

// httpCode is an error-code, or the handle in its place after a success.
type httpCode struct {
	number uint32
	_      [0]uint64
	detail [3]uint64
}

func (code *httpCode) handle() uint32 { return code.number }

func (code *httpCode) err(request Request) error {
	number, detail := int(code.number&0xff), ""
	if some, start, length := code.detail[0]&1, code.detail[0]>>32, code.detail[1]; number == httpInternal && some == 1 {
		detail = copied(span{uint32(start), uint32(length)})
	}
	return request.failWith(number, detail)
}

// The results of the imports, with their memory layout.
type (
	httpDone   struct{ failed bool }
	httpHandle struct {
		failed bool
		handle uint32
	}
	httpFuture struct {
		failed bool
		_      [0]uint64
		code   httpCode
	}
	httpReason struct {
		some bool
		_    [0]uint64
		code httpCode
	}
	httpGot struct {
		some   bool
		_      [0]uint64
		taken  bool
		_      [0]uint64
		failed bool
		_      [0]uint64
		code   httpCode
	}
	ioDone struct {
		failed bool
		detail [2]uint32
	}
	// After a failure, the span is a stream-error: its kind, and a handle.
	ioRead struct {
		failed bool
		bytes  span
	}
)

//go:wasmimport wasi:http/types@0.2.12 [constructor]fields
func httpFields() uint32

//go:wasmimport wasi:http/types@0.2.12 [method]fields.append
func httpAppend(fields uint32, name, value string, done uint32)

//go:wasmimport wasi:http/types@0.2.12 [method]fields.entries
func httpEntries(fields uint32, entries uint32)

//go:wasmimport wasi:http/types@0.2.12 [constructor]outgoing-request
func httpRequest(fields uint32) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]outgoing-request.set-method
func httpSetMethod(request, method uint32, other string) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]outgoing-request.set-scheme
func httpSetScheme(request, some, scheme uint32, other string) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]outgoing-request.set-authority
func httpSetAuthority(request, some uint32, authority string) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]outgoing-request.set-path-with-query
func httpSetPath(request, some uint32, path string) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]outgoing-request.body
func httpRequestBody(request, body uint32)

//go:wasmimport wasi:http/types@0.2.12 [method]outgoing-body.write
func httpBodyWrite(body, stream uint32)

//go:wasmimport wasi:http/types@0.2.12 [static]outgoing-body.finish
func httpBodyFinish(body, some, trailers, done uint32)

//go:wasmimport wasi:http/types@0.2.12 [constructor]request-options
func httpOptions() uint32

//go:wasmimport wasi:http/types@0.2.12 [method]request-options.set-connect-timeout
func httpSetConnectTimeout(options, some uint32, nanoseconds uint64) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]request-options.set-first-byte-timeout
func httpSetFirstByteTimeout(options, some uint32, nanoseconds uint64) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]request-options.set-between-bytes-timeout
func httpSetBetweenBytesTimeout(options, some uint32, nanoseconds uint64) uint32

//go:wasmimport wasi:http/outgoing-handler@0.2.12 handle
func httpHandleRequest(request, some, options, future uint32)

//go:wasmimport wasi:http/types@0.2.12 [method]future-incoming-response.subscribe
func httpSubscribe(future uint32) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]future-incoming-response.get
func httpGet(future, got uint32)

//go:wasmimport wasi:http/types@0.2.12 [method]incoming-response.status
func httpStatus(response uint32) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]incoming-response.headers
func httpHeaders(response uint32) uint32

//go:wasmimport wasi:http/types@0.2.12 [method]incoming-response.consume
func httpConsume(response, body uint32)

//go:wasmimport wasi:http/types@0.2.12 [method]incoming-body.stream
func httpBodyStream(body, stream uint32)

//go:wasmimport wasi:http/types@0.2.12 http-error-code
func httpErrorCode(cause, reason uint32)

//go:wasmimport wasi:http/types@0.2.12 [resource-drop]fields
func httpDropFields(fields uint32)

//go:wasmimport wasi:http/types@0.2.12 [resource-drop]incoming-body
func httpDropBody(body uint32)

//go:wasmimport wasi:http/types@0.2.12 [resource-drop]incoming-response
func httpDropResponse(response uint32)

//go:wasmimport wasi:http/types@0.2.12 [resource-drop]future-incoming-response
func httpDropFuture(future uint32)

//go:wasmimport wasi:io/poll@0.2.12 [method]pollable.block
func ioBlock(pollable uint32)

//go:wasmimport wasi:io/poll@0.2.12 [resource-drop]pollable
func ioDropPollable(pollable uint32)

//go:wasmimport wasi:io/streams@0.2.12 [method]output-stream.blocking-write-and-flush
func ioWrite(stream uint32, bytes string, done uint32)

//go:wasmimport wasi:io/streams@0.2.12 [method]input-stream.blocking-read
func ioBlockingRead(stream uint32, most uint64, read uint32)

//go:wasmimport wasi:io/streams@0.2.12 [resource-drop]output-stream
func ioDropOutput(stream uint32)

//go:wasmimport wasi:io/streams@0.2.12 [resource-drop]input-stream
func ioDropInput(stream uint32)
