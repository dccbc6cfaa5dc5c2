#ifndef DEMO_H
#define DEMO_H

#include <executorch/c/backend.h>

/* The backend's functions; register.c hands them to the runtime. */
extern const et_backend_t demo_backend;

#endif
