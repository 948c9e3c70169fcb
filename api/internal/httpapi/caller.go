package httpapi

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// verifier reads the caller from an Authorization header; see package auth.
type verifier interface {
	Header(ctx context.Context, value string) (auth.Caller, error)
}

type callerKey struct{}

// caller is who makes the request; signedIn and its kin put it there.
func caller(ctx context.Context) auth.Caller {
	who, _ := ctx.Value(callerKey{}).(auth.Caller)
	return who
}

func (a *API) authenticate(c *gin.Context) (auth.Caller, error) {
	return a.auth.Header(c.Request.Context(), c.GetHeader("Authorization"))
}

// signedIn lets any caller with a good token through.
func (a *API) signedIn(ctx huma.Context, next func(huma.Context)) {
	c := humagin.Unwrap(ctx)
	who, err := a.authenticate(c)
	if err != nil {
		fail(c, err)
		return
	}
	next(huma.WithValue(ctx, callerKey{}, who))
}

// adminOnly lets admins through.
func (a *API) adminOnly(ctx huma.Context, next func(huma.Context)) { a.only(auth.Admin, ctx, next) }

// serviceOnly lets other systems through. An admin is none: what a service says, such as
// that money came in, no person may say in its place.
func (a *API) serviceOnly(ctx huma.Context, next func(huma.Context)) {
	a.only(auth.Service, ctx, next)
}

func (a *API) only(role auth.Role, ctx huma.Context, next func(huma.Context)) {
	a.signedIn(ctx, func(ctx huma.Context) {
		if caller(ctx.Context()).Role != role {
			fail(humagin.Unwrap(ctx), seckill.Forbidden)
			return
		}
		next(ctx)
	})
}
