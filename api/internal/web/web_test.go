package web_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/web"
)

// budget is how many bytes all pages together may cost a buyer's phone.
const budget = 100 << 10

func TestPagesAreSmall(t *testing.T) {
	pages, err := web.Pages()
	require.NoError(t, err)
	sum := 0
	for _, f := range pages {
		sum += f.Transferred()
	}
	require.Less(t, sum, budget)
	t.Logf("%d files, %d bytes compressed", len(pages), sum)
}

func TestServeFile(t *testing.T) {
	pages, err := web.Pages()
	require.NoError(t, err)
	for path, f := range pages {
		plain := get(f)
		require.Equal(t, http.StatusOK, plain.Code, path)
		require.NotEmpty(t, plain.Header().Get("Content-Type"), path)
		require.Equal(t, "no-cache", plain.Header().Get("Cache-Control"))
		require.NotContains(t, plain.Header().Get("Content-Security-Policy"), "unsafe")
		require.Contains(t, plain.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")

		small := get(f, "Accept-Encoding", "gzip, br")
		require.Equal(t, "gzip", small.Header().Get("Content-Encoding"))
		require.Equal(t, f.Transferred(), small.Body.Len())

		known := get(f, "If-None-Match", plain.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, known.Code)
		require.Empty(t, known.Body.String())
	}
	require.Contains(t, pages, "/")
}

func get(h http.Handler, header ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	h.ServeHTTP(w, r)
	return w
}

// What the policy would refuse is not written in the first place.
var foreign = regexp.MustCompile(`(src|href)="(https?:)?//|<script>| style="| on[a-z]+="|innerHTML|document\.cookie`)

func TestPagesLoadNothingFromOutside(t *testing.T) {
	dir := os.DirFS("page")
	names, err := fs.Glob(dir, "*")
	require.NoError(t, err)
	for _, name := range names {
		content, err := fs.ReadFile(dir, name)
		require.NoError(t, err)
		if !strings.HasSuffix(name, ".txt") {
			require.Empty(t, foreign.FindString(string(content)), name)
		}
	}
}
