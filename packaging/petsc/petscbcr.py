import config.package
import os

class Configure(config.package.Package):
  def __init__(self, framework):
    config.package.Package.__init__(self, framework)
    self.version          = '0.1.0'
    self.download         = ['petscbcr-'+self.version+'.tar.gz'] # no server has it yet: --download-petscbcr=/path/to/petscbcr-0.1.0.tar.gz
    self.downloaddirnames = ['petscbcr']
    self.functions        = ['PetscBCRInitializePackage']
    self.includes         = ['petscbcr.h']
    self.liblist          = [['libpetscbcr.so']]
    self.precisions       = ['single','double']
    self.noMPIUni         = 1
    self.providesDocs     = 1
    self.docsDirs         = ['include','pc','ksp','src']
    self.linkedbypetsc    = 0 # PETSc loads it at start, src/sys/dll/reg.c
    self.builtafterpetsc  = 1
    return

  def setupDependencies(self, framework):
    config.package.Package.setupDependencies(self, framework)
    self.sharedLibraries = framework.require('PETSc.options.sharedLibraries', self)
    self.mpi             = framework.require('config.packages.MPI', self)
    self.blasLapack      = framework.require('config.packages.BlasLapack', self)
    self.mathlib         = framework.require('config.packages.mathlib', self)
    self.cuda            = framework.require('config.packages.CUDA', self)
    self.deps            = [self.mpi, self.blasLapack, self.mathlib]
    self.odeps           = [self.cuda]
    return

  def Install(self):
    if not self.checkSharedLibrariesEnabled():
      raise RuntimeError('petscbcr is a plug-in and wants shared libraries: remove --with-shared-libraries=0')
    # where the library and its header go: beside PETSc's own
    if self.argDB['prefix'] and not 'package-prefix-hash' in self.argDB:
      prefix = os.path.abspath(os.path.expanduser(self.argDB['prefix']))
      petsc  = 'PETSC_DIR='+prefix+' PETSC_ARCH='
    else:
      prefix = os.path.join(self.petscdir.dir, self.arch)
      petsc  = 'PETSC_DIR=${PETSC_DIR} PETSC_ARCH=${PETSC_ARCH}'
    make = petsc+' '+self.make.make_jnp+' -f makefile.petsc '+petsc+' OUT=build-'+self.arch+' PREFIX='+prefix
    if not self.cuda.found: make += ' CUDA=0'
    self.include = [os.path.join(self.installDir, 'include')]
    self.lib     = [os.path.join(self.installDir, 'lib', 'libpetscbcr.'+self.setCompilers.sharedLibraryExt)]
    self.addPost(self.packageDir, [make+' all', make+' install'])
    self.addMakeCheck(self.packageDir, make+' -s check TESTS=tests/petsc/embed.c')
    return self.installDir
