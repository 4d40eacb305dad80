#pragma once
// pkg-config anchor: no declarations, libfuse headers are never imported into Swift.
