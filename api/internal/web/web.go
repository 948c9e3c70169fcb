// Package web holds the pages that the api serves to people: the storefront and the console.
// They are plain files, embedded, that load nothing from anywhere else. It imports the
// standard library only.
package web

import (
	"embed"
	"path"
	"strings"
)

//go:embed page
var files embed.FS

// policy lets a page load what is served beside it, and nothing else: no inline script or
// style, no other origin, no form that leads away.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// contentTypes are named here and not asked of the machine, whose own table may say otherwise.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// Pages returns every file by the path under which it is served: "/" and "/console", the
// rest under "/assets/".
func Pages() (map[string]*File, error) {
	entries, err := files.ReadDir("page")
	if err != nil {
		return nil, err
	}
	pages := make(map[string]*File, len(entries))
	for _, e := range entries {
		content, err := files.ReadFile("page/" + e.Name())
		if err != nil {
			return nil, err
		}
		pages[address(e.Name())] = NewFile(contentTypes[path.Ext(e.Name())], policy, content)
	}
	return pages, nil
}

func address(name string) string {
	page, isPage := strings.CutSuffix(name, ".html")
	switch {
	case !isPage:
		return "/assets/" + name
	case page == "storefront":
		return "/"
	default:
		return "/" + page
	}
}
