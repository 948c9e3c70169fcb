package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// File never changes while the program runs. It is compressed once, when first asked for so.
type File struct {
	contentType, policy, etag string
	plain                     []byte
	gzipped                   func() []byte
}

// NewFile makes a file of its content. The policy is its Content-Security-Policy; with ""
// it keeps that of all answers.
func NewFile(contentType, policy string, content []byte) *File {
	sum := sha256.Sum256(content)
	etag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return &File{contentType, policy, etag, content, sync.OnceValue(func() []byte { return compressed(content) })}
}

// compressed cannot fail: there is such a level, and memory takes all that is written.
func compressed(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// Transferred is how many bytes a browser loads, compressed.
func (f *File) Transferred() int { return len(f.gzipped()) }

// ServeHTTP answers with the file, or that the client has it.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-cache") // keep it, and ask whether it changed
	header.Set("ETag", f.etag)
	header.Add("Vary", "Accept-Encoding")
	if f.policy != "" {
		header.Set("Content-Security-Policy", f.policy)
	}
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = f.gzipped()
	}
	header.Set("Content-Type", f.contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that is gone gets nothing
}
