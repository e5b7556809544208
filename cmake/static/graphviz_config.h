// The results of Graphviz's configure script on Linux, for the parts that are built here.
#pragma once

#include <graphviz/graphviz_version.h> // from the package of the same sources

#define BUILDDATE "0"
#define DEFAULT_DPI 96
#define DEFAULT_FONTPATH ""
#define HAVE_CBRT 1
#define HAVE_DRAND48 1
#define HAVE_EXPAT 1
#define HAVE_EXPAT_H 1
#define HAVE_FCNTL_H 1
#define HAVE_INTPTR_T 1
#define HAVE_INTTYPES_H 1
#define HAVE_SEARCH_H 1
#define HAVE_SETENV 1
#define HAVE_SRAND48 1
#define HAVE_SSIZE_T 1
#define HAVE_STDINT_H 1
#define HAVE_STRCASECMP 1
#define HAVE_STRINGS_H 1
#define HAVE_STRNCASECMP 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_UNISTD_H 1
#define HAVE_VSNPRINTF 1
#define VERSION PACKAGE_VERSION
