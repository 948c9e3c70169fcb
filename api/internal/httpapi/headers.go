package httpapi

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
)

// What a page of an allowed origin may send, and read of an answer.
const (
	corsMethods = "GET, HEAD, POST, PATCH"
	corsSends   = "Authorization, Content-Type, Idempotency-Key, If-Match, Seckill-Receipt, X-Request-Id"
	corsReads   = "Content-Language, ETag, Location, Retry-After, WWW-Authenticate, X-Request-Id"
	corsLife    = "600" // seconds that a browser remembers them
)

// cors lets pages of these origins, or with "*" of all, call from a browser. Their calls
// carry a token that the page itself holds and no cookies, so there is nothing to steal.
func cors(origins []string) gin.HandlerFunc {
	all := slices.Contains(origins, "*")
	return func(c *gin.Context) {
		origin, header := c.GetHeader("Origin"), c.Writer.Header()
		if !all && len(origins) > 0 {
			header.Add("Vary", "Origin")
		}
		switch {
		case origin == "":
			return
		case all:
			origin = "*"
		case !slices.Contains(origins, origin):
			return
		}
		header.Set("Access-Control-Allow-Origin", origin)
		if c.Request.Method == http.MethodOptions && c.GetHeader("Access-Control-Request-Method") != "" {
			header.Set("Access-Control-Allow-Methods", corsMethods)
			header.Set("Access-Control-Allow-Headers", corsSends)
			header.Set("Access-Control-Max-Age", corsLife)
			c.AbortWithStatus(http.StatusNoContent)
			return
		}
		header.Set("Access-Control-Expose-Headers", corsReads)
	}
}

// acceptable refuses a client that could not read the answer, before anything is done for it.
func acceptable(c *gin.Context) {
	if strings.HasPrefix(c.FullPath(), "/api/") && !accepts(c.GetHeader("Accept")) {
		fail(c, notAcceptable)
	}
}

// accepts reports whether an Accept header allows JSON or, where it is asked for, events.
func accepts(header string) bool {
	if header == "" {
		return true
	}
	for header != "" {
		var item string
		item, header, _ = strings.Cut(header, ",")
		kind, params, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "*/*", "application/*", "application/json", "application/problem+json", "text/*", eventsType:
			if quality(params) > 0 {
				return true
			}
		}
	}
	return false
}

// jsonOnly refuses a body that says it is something else.
func jsonOnly(ctx huma.Context, next func(huma.Context)) {
	c := humagin.Unwrap(ctx)
	if c.Request.ContentLength != 0 && !isJSON(c.GetHeader("Content-Type")) {
		fail(c, unsupportedMedia)
		return
	}
	c.Request.Header["Content-Type"] = jsonType // as huma spells it: case does not count
	next(ctx)
}

// isJSON accepts JSON, and a body that does not say what it is.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	kind, params, err := mime.ParseMediaType(contentType)
	charset, other := params["charset"]
	named := kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	return err == nil && named && (!other || strings.EqualFold(charset, "utf-8"))
}

// routeHead answers HEAD wherever GET is: net/http leaves the body out.
func (a *API) routeHead() {
	for _, r := range a.engine.Routes() {
		if r.Method == http.MethodGet {
			a.engine.HEAD(r.Path, r.HandlerFunc)
		}
	}
}

// noMethod says which methods an address knows; gin has listed those with a route.
func noMethod(c *gin.Context) {
	header := c.Writer.Header()
	header.Set("Allow", header.Get("Allow")+", "+http.MethodOptions)
	if c.Request.Method == http.MethodOptions {
		c.AbortWithStatus(http.StatusNoContent)
		return
	}
	fail(c, methodNotAllowed)
}
