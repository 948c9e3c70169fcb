package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// File never changes while the program runs. It is compressed once.
type File struct {
	contentType, policy, etag string
	plain, gzipped            []byte
}

// NewFile makes a file of its content. The policy is its Content-Security-Policy; with ""
// it keeps that of all answers.
func NewFile(contentType, policy string, content []byte) (*File, error) {
	var gzipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&gzipped, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	etag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return &File{contentType: contentType, policy: policy, etag: etag, plain: content, gzipped: gzipped.Bytes()}, nil
}

// Transferred is how many bytes a browser loads, compressed.
func (f *File) Transferred() int { return len(f.gzipped) }

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
		body = f.gzipped
	}
	header.Set("Content-Type", f.contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that is gone gets nothing
}
