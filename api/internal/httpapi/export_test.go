package httpapi

import "github.com/gin-gonic/gin"

// Routes are those of the router, described or not.
func (a *API) Routes() gin.RoutesInfo { return a.engine.Routes() }
