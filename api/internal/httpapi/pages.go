package httpapi

import (
	"github.com/gin-gonic/gin"

	"github.com/openseckill/seckill/api/internal/web"
)

// routePages serves the pages for people. They ask the routes beside them as any client
// does: with a token in a header, and no cookie that a page of another site could use.
func (a *API) routePages() {
	pages, err := web.Pages()
	if err != nil {
		panic(err) // they are embedded
	}
	serve := func(c *gin.Context) {
		if f := pages[c.Request.URL.Path]; f != nil {
			f.ServeHTTP(c.Writer, c.Request)
			return
		}
		fail(c, routeNotFound)
	}
	for _, path := range []string{"/", "/console", "/assets/:name"} {
		a.engine.GET(path, serve)
	}
}
