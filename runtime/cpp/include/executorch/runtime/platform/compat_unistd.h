/// \file
/// POSIX input and output.

#pragma once

#include <unistd.h>
